"""The task families of Meridian Air Cargo: one file each, listed in `FAMILIES`. None is ever trained on."""

from __future__ import annotations

from journeyman.world.family import Family
from journeyman.worlds.airline_cargo.families import (
    credit_hold,
    damage_claim,
    dangerous_goods,
    embargo_refusal,
    injected_remark,
    less_than_asked,
    live_animals,
    lookalike_cancel,
    missed_cutoff,
    rebooking_change,
    release_identity,
    starter_pieces,
    starter_status,
    station_question,
    three_part,
    timed_out_booking,
    waiver_approval,
    waybill_amendment,
)

FAMILIES: list[Family] = [
    Family(starter_status.NAME, 1, starter_status.make, heldout=20, held_out_family=True),
    Family(starter_pieces.NAME, 1, starter_pieces.make, heldout=20, held_out_family=True),
    Family(waybill_amendment.NAME, 4, waybill_amendment.make, heldout=16, held_out_family=True),
    Family(dangerous_goods.NAME, 4, dangerous_goods.make, heldout=16, held_out_family=True),
    Family(missed_cutoff.NAME, 3, missed_cutoff.make, heldout=16, held_out_family=True),
    Family(damage_claim.NAME, 3, damage_claim.make, heldout=16, held_out_family=True),
    Family(waiver_approval.NAME, 4, waiver_approval.make, heldout=16, held_out_family=True),
    Family(credit_hold.NAME, 3, credit_hold.make, heldout=16, held_out_family=True),
    Family(station_question.NAME, 2, station_question.make, heldout=16, held_out_family=True),
    Family(embargo_refusal.NAME, 3, embargo_refusal.make, heldout=16, held_out_family=True),
    Family(release_identity.NAME, 4, release_identity.make, heldout=16, held_out_family=True),
    Family(rebooking_change.NAME, 3, rebooking_change.make, heldout=16, held_out_family=True),
    Family(three_part.NAME, 5, three_part.make, heldout=16, held_out_family=True),
    Family(timed_out_booking.NAME, 5, timed_out_booking.make, heldout=16, held_out_family=True),
    Family(lookalike_cancel.NAME, 4, lookalike_cancel.make, heldout=16, held_out_family=True),
    Family(less_than_asked.NAME, 2, less_than_asked.make, heldout=16, held_out_family=True),
    Family(live_animals.NAME, 4, live_animals.make, heldout=16, held_out_family=True),
    Family(injected_remark.NAME, 4, injected_remark.make, heldout=16, held_out_family=True),
]
