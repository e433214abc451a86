"""How the writes of the cargo desk are proposed to clients: verbs, things agreed to, sums charged. Pure data.

"the" inside a phrase stands for up to three words, numbers not counted.
"""

from __future__ import annotations

from journeyman.world import ProposalForm

PROPOSALS = [
    ProposalForm(
        "amend_waybill",
        [
            *("amend the waybill", "amend waybill", "amend", "change the waybill", "correct the waybill"),
            *("change the volume", "correct the volume", "change the chargeable weight", "correct the chargeable weight"),
        ],
        {"awb": "awb", "chargeable_kg": "chargeable_kg", "volume_cbm": "volume_cbm", "pieces": "pieces"},
        nouns=["amendment", "correction"],
        loose=["set", "change", "correct", "update"],
        near=["chargeable_kg", "volume_cbm", "pieces"],
    ),
    ProposalForm("amend_house_waybill", ["amend the house waybill", "amend house"], {"house_id": "house_id"}),
    ProposalForm("void_waybill", ["void the waybill", "void"], {"awb": "awb"}),
    ProposalForm(
        "create_booking",
        [
            *("book the shipment", "book the space", "make the booking", "make a booking", "create the booking", "book"),
            *("reserve the space", "reserve space", "secure the space", "secure space", "place the booking"),
        ],
        {"flight_id": "flight_id"},
        nouns=["booking", "reservation", "space"],
    ),
    ProposalForm(
        "cancel_booking",
        ["cancel the booking", "cancel booking", "cancel"],
        {"booking_id": "booking_id"},
        nouns=["cancellation"],
    ),
    ProposalForm(
        "rebook_leg",
        [
            *("rebook the shipment", "move the shipment", "rebook the booking", "rebook booking", "move the booking"),
            *("move booking", "move it", "move 927", "rebook"),
        ],
        {"booking_id": "booking_id", "flight_id": "flight_id"},
        nouns=["move", "rebooking", "change", "switch", "transfer"],
        loose=["move", "switch", "shift", "put the on", "put it on", "transfer", "change"],
        near=["flight_id"],
    ),
    ProposalForm("offload_leg", ["offload the shipment", "offload"], {"booking_id": "booking_id"}),
    ProposalForm("set_booking_priority", ["set the priority", "change the priority"], {"priority": "priority"}),
    ProposalForm("apply_discount", ["apply a discount", "give a discount", "discount"], {"percent": "discount"}),
    ProposalForm(
        "reserve_container",
        ["reserve the container", "reserve a container", "reserve container"],
        {"container_id": "container_id"},
    ),
    ProposalForm(
        "add_charge",
        [
            *("charge the fee", "charge a fee", "charge", "put the charge", "for a fee", "at a fee", "with a fee"),
            *("pay the fee", "pay a fee", "bill the fee", "add the fee", "apply the fee", "for that fee", "for the fee"),
        ],
        {"amount": "fee"},
        nouns=["fee", "handling fee", "dg fee", "cancellation fee", "amendment fee", "no-show fee"],
        prices=[
            *("fee", "handling fee", "dg fee", "cancellation fee", "amendment fee", "no-show fee", "dg handling fee"),
            *("costs", "would cost", "will cost", "cost of", "for"),
        ],
    ),
    ProposalForm(
        "waive_charge",
        [
            *("waive the charge", "waive the storage", "waive the fee", "waive", "a waiver of", "take the off the storage"),
            *("take the off the charge", "knock the off", "take off the storage", "write off the storage"),
        ],
        {"amount": "waived_amount", "charge_id": "charge_id"},
        nouns=["waiver"],
    ),
    ProposalForm(
        "open_claim",
        ["open a claim", "file a claim", "register a claim", "file the claim", "open the claim", "register the claim"],
        {"amount": "claim_amount", "weight_kg": "affected_kg"},
    ),
    ProposalForm(
        "settle_claim",
        ["settle the claim", "settle claim", "settle", "pay out the claim", "pay out", "pay the claim"],
        {"claim_id": "claim_id", "amount": "claim_amount"},
        nouns=["settlement"],
    ),
    ProposalForm(
        "release_shipment",
        [
            *("release the shipment", "release shipment", "release 927", "hand over the shipment", "hand over 927"),
            *("release the goods", "hand over the goods", "release the cargo", "hand it over", "hand them over"),
        ],
        {"awb": "awb"},
        nouns=["release"],
    ),
    ProposalForm(
        "hold_shipment",
        ["hold the shipment", "hold 927", "put a hold", "set a hold", "place a hold"],
        {"awb": "awb"},
        loose=["put the on hold", "place the on hold", "set the on hold"],
    ),
    ProposalForm(
        "lift_hold",
        ["lift the hold", "remove the hold", "take the hold off", "take off the hold", "release the hold", "clear the hold"],
        {"awb": "awb"},
    ),
    ProposalForm("set_handling_code", ["put the code", "set the code", "add the code"], {"awb": "awb"}),
    ProposalForm("accept_dg_declaration", ["accept the declaration"], {"declaration_id": "declaration_id"}),
    ProposalForm("set_account_hold", ["hold the account", "lift the account hold"], {}),
    ProposalForm(
        "update_client_contact",
        [
            *("update your contact", "change your email", "update your email", "set your email", "change your e-mail"),
            *("update your e-mail", "set your e-mail", "change your phone", "replace your email", "replace your e-mail"),
            *("as your new email", "as your email", "as the new email", "as your new e-mail", "as your e-mail"),
        ],
        {},
        loose=["change it to", "save it", "save this", "put", "save", "set it to", "update it to", "store", "enter"],
        near=["email"],
    ),
]  # fmt: skip
