"""The words of the cargo desk: how a message speaks of its values, its writes and its refusals.

Slots named like a tool argument or result (`awb`, `chargeable_kg`, `hold`) mean the same thing.
"""

from __future__ import annotations

import msgspec

from journeyman.world import DenialForm, Lexicon, ProposalForm, Slot
from journeyman.worlds.airline_cargo import catalogue as data
from journeyman.worlds.airline_cargo.questions import ASK

_NEVER = r"(?!)"
"""Matches nothing: a slot that is asked for and never stated."""


def _money(name: str, *cues: str) -> Slot:
    return Slot(name, "money", list(cues))


def _number(name: str, *cues: str, ask: tuple[str, ...] = ()) -> Slot:
    return Slot(name, "number", list(cues), ask=list(ask))


def _date(name: str, *cues: str) -> Slot:
    return Slot(name, "date", list(cues))


def _id(name: str, pattern: str, *cues: str) -> Slot:
    return Slot(name, "id", list(cues), pattern=pattern)


def _asked(name: str, *ask: str) -> Slot:
    return Slot(name, "id", [], ask=list(ask), pattern=_NEVER)


def _choice(name: str, cues: list[str], values: dict[str, list[str]], *ask: str) -> Slot:
    spoken = {value: [value.replace("_", " "), *phrases] for value, phrases in values.items()}
    return Slot(name, "choice", cues, ask=list(ask), values=spoken)


MONEY = [
    _money("balance", "balance", "outstanding", "you owe"),
    _money("credit_limit", "credit limit"),
    _money("headroom", "headroom", "left of the limit", "credit left"),
    _money("past_due", "past due", "past-due sum", "overdue", "overdue sum"),
    _money("freight", "freight", "freight charge"),
    _money("fuel", "fuel", "fuel surcharge"),
    _money("total_price", "total", "in total", "altogether", "all in"),
    _money("storage", "storage", "storage charge", "storage charges"),
    _money("fee", "fee", "fee of", "cancellation fee", "no-show fee", "amendment fee", "handling fee", "dg fee"),
    _money("waived_amount", "waive", "waived", "waiver", "waiver of"),
    _money("claim_amount", "claim", "claimed", "claim of", "settle", "settled", "settlement", "settlement of"),
    _money("liability_cap", "cap", "liability cap", "limit of liability", "at most", "maximum"),
    _money("per_kg", "per kg", "a kg", "per kilo", "rate"),
    _money("approval_amount", "approval for", "approve", "approved up to"),
]
DATES = [
    _date("departure_date", "departs on", "leaves on", "departure", "flight on", "flies on"),
    _date("arrival_date", "arrived on", "arrival", "arrives on"),
    _date("delivery_date", "delivered on", "delivery", "released on"),
    _date("event_date", "last seen", "last event", "as of"),
    _date("deadline", "deadline", "until", "no later than", "last day", "notice by"),
    _date(
        "embargo_end",
        "embargo",
        "embargo ends",
        "embargo until",
        "embargo runs",
        "embargo runs until",
        "embargo lasts until",
        "ends on",
        "in force until",
        "end date",
    ),
    _date("due_date", "due on", "due date"),
    _date("waiver_date", "last waiver", "waived on", "goodwill", "used on", "used up on"),
]
NUMBERS = [
    _number("pieces", "pieces", "piece", "piece count", "number of pieces", "pcs"),
    _number("weight_kg", "gross weight", "gross", "actual weight", "weighs", ask=("gross weight", "weight")),
    _number("volume_cbm", "volume", "cbm", "cubic meters", "cubic metres", "m3"),
    _number("chargeable_kg", "chargeable weight", "chargeable", "chargeable kg"),
    _number("affected_kg", "affected", "damaged weight", "affected weight", "missing weight"),
    _number(
        "piece_kg",
        "heaviest piece",
        "heaviest piece weighs",
        "piece weight",
        "weight of the piece",
        "piece weighs",
        "pieces weigh",
        "weigh each",
    ),
    _number("height_cm", "height", "high", "tall", "tallest"),
    _number("length_cm", "length", "long", "longest"),
    _number(
        "max_height_cm",
        "height limit",
        "highest allowed",
        "maximum height",
        "max height",
        "limit of height",
        "greatest height",
        "can be the high",
    ),
    _number("max_length_cm", "length limit", "maximum length"),
    _number(
        "max_piece_kg",
        "piece limit",
        "weight limit",
        "heaviest allowed",
        "maximum piece weight",
        "maximum weight",
        "max weight",
        "per piece",
        "limit of weight",
        "can be the heavy",
        "can weigh",
    ),
    _number("divisor", "divisor", "volumetric divisor"),
    _number(
        "free_days",
        "free days",
        "days free",
        "free storage days",
        "free for",
        "days are free",
        "days of free storage",
        "days of storage are free",
        *("free day", "day free", "free storage day", "day is free", "day of free storage", "day of storage is free"),
    ),
    _number("charged_days", "charged days", "days charged", "days of storage"),
    _number(
        "hours_left",
        "hours before departure",
        "hours left",
        "hours to departure",
        "hours to go",
        "departs in",
        "leaves in",
    ),
    _number("cutoff_minutes", "minutes before departure", "cut-off minutes", "cutoff minutes"),
    _number("dg_limit_kg", "per package", "package limit", "limit per package"),
    _number("packages", "packages"),
    _number("houses", "houses", "house waybills"),
    _number("leg_no", "leg"),
]
PERCENT = [Slot("discount", "percent", ["discount", "off", "discount of"])]
IDS = [
    # Without cues: a waybill number speaks for itself.
    Slot("awb", "id", [], ask=["waybill number", "air waybill", "waybill", "awb"], pattern=r"927-\d{8}"),
    _id("client_id", r"CL-\d{4}", "client number", "client id", "client"),
    _id("contract_id", r"CT-\d{4}", "contract", "contract number"),
    _id("booking_id", r"BK-\d{4}", "booking", "booking number"),
    _id("flight_id", r"FL-\d{4}", "flight", "flight id", "moved to", "rebooked to", "flies on", "booked on"),
    _id("onward_flight_id", r"FL-\d{4}", "onward flight", "onward", "connecting flight", "connecting to"),
    _id("case_id", r"CS-\d{4}", "case", "case number"),
    _id("charge_id", r"CH-\d{4}", "charge", "charge number"),
    _id("claim_id", r"CLM-\d{4}", "claim", "claim number"),
    _id("declaration_id", r"DG-\d{4}", "declaration", "declaration number"),
    _id("embargo_id", r"EM-\d{3,4}", "embargo", "embargo number"),
    _id("container_id", r"RKN-\d{4}", "container"),
    _id("house_id", r"HW-\d{4}", "house", "house waybill"),
    _id("approval_id", r"AP-\d{4}", "approval"),
    _id("invoice_id", r"INV-\d{4}", "invoice"),
    _id("account_id", r"CA-\d{4}", "account"),
    _id("irregularity_id", r"IR-\d{4}", "irregularity", "report"),
    _id("un_number", r"UN\d{4}", "un number"),
    _id("clock", r"\d{1,2}:\d{2}", "at", "cut-off", "cutoff", "local time", "utc"),
    _id("email", r"[\w.+-]{1,64}@[\w.-]{1,64}\.[a-z]{2,10}", "email address", "e-mail address"),
]
WHO = [
    _asked("pin", "desk pin", "pin", "security pin"),
    _asked("release_pin", "release pin", "release code", "six-digit pin"),
    _asked("name", "name", "full name", "your name"),
    _asked("receiver_name", "receiver", "name of the receiver", "receiver's name", "who collects"),
    _asked("dimensions", "dimensions", "measurements", "size of the pieces"),
]
_STATIONS = {str(row[0]): [str(row[0]).lower(), str(row[1]).lower()] for row in data.STATIONS}


def _place(name: str, cues: list[str]) -> Slot:
    return Slot(name, "choice", cues, values=_STATIONS)


CHOICES = [
    _place("station", ["station", "at", "in", "seen", "seen at"]),
    _place("destination", ["destination", "bound for", "going to", "on its way to", "heading to"]),
    _place("origin", ["origin", "from"]),
    _choice(
        "shipment_status",
        ["status", "shipment", "waybill", "it is", "it's", "currently"],
        {
            "draft": [],
            "issued": [],
            "accepted": ["accepted at the station"],
            "in_transit": ["on its way", "under way"],
            "arrived": ["has arrived"],
            "delivered": ["handed over"],
            "void": ["voided"],
        },
    ),
    _choice("hold", ["hold", "held"], {"client": ["client hold"], "security": ["security hold"], "customs": ["customs hold"], "unpaid": ["unpaid hold"]}),
    _choice("product", ["product", "service"], {"general": ["general cargo"], "express": [], "perishable": ["perishables"], "pharma": [], "live_animals": []}),
    _choice("commodity", ["goods", "commodity"], {row[0]: [row[1].lower()] for row in data.COMMODITIES}, "goods", "commodity", "what is shipped"),
    _choice("aircraft_kind", ["aircraft"], {"passenger": ["passenger aircraft"], "cargo_only": ["cargo aircraft", "cargo aircraft only", "freighter"]}),
    _choice("packing_group", ["packing group"], {"I": ["pg i"], "II": ["pg ii"], "III": ["pg iii"]}),
    _choice("dg_status", ["declaration"], {"accepted": [], "rejected": ["sent back"], "submitted": []}),
    _choice("dg_reason", ["because", "reason"], {"unsigned": ["not signed", "signature is missing"], "class_mismatch": ["wrong class"], "packages": [], "over_limit": ["above the limit", "over the limit"], "station": []}),
    _choice("booking_status", ["booking"], {"confirmed": [], "waitlisted": [], "cancelled": ["canceled"], "no_show": ["no-show"], "flown": []}),
    _choice("priority", ["priority"], {"must_ride": ["must-ride"], "standard": []}),
    _choice("claim_status", ["claim"], {"open": ["opened"], "settled": [], "rejected": []}),
    _choice("case_status", ["case"], {"open": ["opened"], "pending": [], "closed": []}),
    _choice("account_status", ["account", "credit account"], {"active": [], "held": ["on hold"], "closed": []}),
    _choice("hold_reason", ["because", "reason"], {"past_due": ["invoices past due", "past-due invoices"], "over_limit": ["limit exceeded"], "fraud_review": []}),
    _choice("approval_status", ["approval", "manager"], {"pending": ["waiting"], "approved": [], "rejected": []}),
    _choice("contract_status", ["contract"], {"active": ["valid"], "expired": ["run out"], "draft": []}),
    _choice("flight_status", ["flight"], {"scheduled": ["on time"], "delayed": [], "closed": [], "departed": ["left"], "cancelled": ["canceled"]}),
    _choice("cutoff_state", ["cut-off", "cutoff"], {"passed": ["has passed", "too late"], "open": ["still open", "not passed"]}),
]  # fmt: skip

PROPOSALS = [
    ProposalForm(
        "amend_waybill",
        [
            *("amend the waybill", "amend waybill", "amend", "change the waybill", "correct the waybill"),
            *("change the volume", "correct the volume", "change the chargeable weight", "correct the chargeable weight"),
        ],
        {"awb": "awb", "chargeable_kg": "chargeable_kg", "volume_cbm": "volume_cbm", "pieces": "pieces"},
    ),
    ProposalForm("amend_house_waybill", ["amend the house waybill", "amend house"], {"house_id": "house_id"}),
    ProposalForm("void_waybill", ["void the waybill", "void"], {"awb": "awb"}),
    ProposalForm("create_booking", ["book the shipment", "book the space", "make the booking", "book"], {"flight_id": "flight_id"}),
    ProposalForm("cancel_booking", ["cancel the booking", "cancel booking", "cancel"], {"booking_id": "booking_id"}),
    ProposalForm("rebook_leg", ["rebook the shipment", "move the shipment", "rebook the booking", "rebook booking", "move the booking", "move booking", "move it", "move 927", "rebook"], {"booking_id": "booking_id", "flight_id": "flight_id"}),
    ProposalForm("offload_leg", ["offload the shipment", "offload"], {"booking_id": "booking_id"}),
    ProposalForm("set_booking_priority", ["set the priority", "change the priority"], {"priority": "priority"}),
    ProposalForm("apply_discount", ["apply a discount", "give a discount", "discount"], {"percent": "discount"}),
    ProposalForm("reserve_container", ["reserve the container", "reserve a container", "reserve container"], {"container_id": "container_id"}),
    ProposalForm("add_charge", ["charge the fee", "charge a fee", "charge", "put the charge", "for a fee", "at a fee", "with a fee"], {"amount": "fee"}),
    ProposalForm("waive_charge", ["waive the charge", "waive the storage", "waive the fee", "waive", "a waiver of"], {"amount": "waived_amount", "charge_id": "charge_id"}),
    ProposalForm("open_claim", ["open a claim", "file a claim", "register a claim"], {"amount": "claim_amount", "weight_kg": "affected_kg"}),
    ProposalForm("settle_claim", ["settle the claim", "settle claim", "settle"], {"claim_id": "claim_id", "amount": "claim_amount"}),
    ProposalForm("release_shipment", ["release the shipment", "release shipment", "release 927", "hand over the shipment"], {"awb": "awb"}),
    ProposalForm("hold_shipment", ["hold the shipment", "hold 927", "put a hold", "set a hold", "place a hold"], {"awb": "awb"}),
    ProposalForm("lift_hold", ["lift the hold", "remove the hold"], {"awb": "awb"}),
    ProposalForm("set_account_hold", ["hold the account", "lift the account hold"], {}),
    ProposalForm("update_client_contact", ["update your contact", "change your email", "update your email", "set your email", "change your e-mail", "update your e-mail", "set your e-mail", "change your phone"], {}),
]  # fmt: skip

DENIALS = [
    DenialForm("amendment", ["amend the waybill", "amend", "amendment", "change the waybill", "change the weight", "change the pieces", "change the consignee"]),
    DenialForm("booking", ["book the shipment", "book", "make the booking", "accept the booking", "take the shipment"]),
    DenialForm("rebooking", ["rebook", "rebook the shipment", "rebooking", "move the shipment", "move it", "move 927"]),
    DenialForm("cancellation", ["cancel the booking", "cancel booking"]),
    DenialForm("cancellation_fee", ["waive the cancellation fee", "cancel free of charge", "free cancellation"]),
    DenialForm("release", ["release the shipment", "release shipment", "release 927", "hand over the shipment", "release the goods"]),
    DenialForm("claim", ["accept the claim", "open a claim", "pay the claim", "settle the claim", "take the claim"]),
    DenialForm("fee_waiver", ["waive the charge", "waive the fee", "waive the storage", "waiver"]),
    DenialForm("discount", ["give a discount", "apply a discount", "grant a discount", "discount"]),
    DenialForm("dg_acceptance", ["accept the declaration", "accept the dangerous goods", "accept dangerous goods"]),
    DenialForm("credit_release", ["lift the account hold", "lift the hold on the account", "release the account", "raise the limit"]),
    DenialForm("priority", ["set must ride", "make it must ride", "change the priority", "set the priority"]),
    DenialForm("account_access", ["give you access", "discuss the account", "discuss this account", "share account details", "discuss the shipment", "share details"]),
    DenialForm("lift_hold", ["lift the hold on the shipment", "lift the hold"]),
]  # fmt: skip

SLOTS = [
    msgspec.structs.replace(slot, ask=ASK.get(slot.name, slot.ask))
    for slot in (*MONEY, *DATES, *NUMBERS, *PERCENT, *IDS, *WHO, *CHOICES)
]
LEXICON = Lexicon(SLOTS, PROPOSALS, DENIALS)
