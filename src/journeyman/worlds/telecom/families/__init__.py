"""The task families of Northline Telecom: one file each, listed in `FAMILIES`."""

from __future__ import annotations

from journeyman.world.family import Family
from journeyman.worlds.telecom.families import (
    late_fee,
    lost_phone,
    outage_credit,
    past_due_payment,
    starter_billing,
    starter_line_features,
    starter_plan,
)

FAMILIES = [
    Family(starter_line_features.NAME, 1, starter_line_features.make, train=64, heldout=60),
    Family(starter_billing.NAME, 1, starter_billing.make, train=64, heldout=60),
    Family(starter_plan.NAME, 1, starter_plan.make, heldout=30, held_out_family=True),
    Family(past_due_payment.NAME, 4, past_due_payment.make, train=24, heldout=10),
    Family(late_fee.NAME, 4, late_fee.make, train=24, heldout=10),
    Family(outage_credit.NAME, 3, outage_credit.make, train=24, heldout=10),
    Family(lost_phone.NAME, 5, lost_phone.make, heldout=18, held_out_family=True),
]
