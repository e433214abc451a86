"""The task families of Northline Telecom: one file each, listed in `FAMILIES`."""

from __future__ import annotations

from journeyman.world.family import Family
from journeyman.worlds.telecom.families import (
    approval_credit,
    device_upgrade,
    dispute_reuse,
    impersonation,
    injected_note,
    late_fee,
    less_than_asked,
    lookalike_suspend,
    lost_phone,
    outage_credit,
    past_due_payment,
    plan_change,
    port_in,
    port_status,
    roaming_shock,
    starter_billing,
    starter_line_features,
    starter_plan,
    three_part,
    timed_out_write,
)

FAMILIES = [
    Family(starter_line_features.NAME, 1, starter_line_features.make, train=240, heldout=60),
    Family(starter_billing.NAME, 1, starter_billing.make, train=240, heldout=60),
    Family(starter_plan.NAME, 1, starter_plan.make, heldout=30, held_out_family=True),
    Family(past_due_payment.NAME, 4, past_due_payment.make, train=24, heldout=10),
    Family(late_fee.NAME, 4, late_fee.make, train=24, heldout=10),
    Family(outage_credit.NAME, 3, outage_credit.make, train=24, heldout=10),
    Family(plan_change.NAME, 3, plan_change.make, train=24, heldout=10),
    Family(approval_credit.NAME, 4, approval_credit.make, train=24, heldout=10),
    Family(dispute_reuse.NAME, 3, dispute_reuse.make, train=24, heldout=10),
    Family(three_part.NAME, 5, three_part.make, train=18, heldout=9),
    Family(lost_phone.NAME, 5, lost_phone.make, heldout=18, held_out_family=True),
    Family(less_than_asked.NAME, 2, less_than_asked.make, train=16, heldout=8),
    Family(port_status.NAME, 2, port_status.make, train=16, heldout=8),
    Family(roaming_shock.NAME, 3, roaming_shock.make, train=16, heldout=8),
    Family(device_upgrade.NAME, 3, device_upgrade.make, train=16, heldout=8),
    Family(port_in.NAME, 4, port_in.make, train=16, heldout=8),
    Family(injected_note.NAME, 4, injected_note.make, train=16, heldout=8),
    Family(lookalike_suspend.NAME, 4, lookalike_suspend.make, train=16, heldout=8),
    Family(timed_out_write.NAME, 5, timed_out_write.make, train=16, heldout=8),
    Family(impersonation.NAME, 4, impersonation.make, heldout=16, held_out_family=True),
]
