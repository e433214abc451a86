"""The words of the cargo desk: how a message speaks of its values, its writes and its refusals.

Slots named like a tool argument or result (`awb`, `chargeable_kg`, `hold`) mean the same thing.
"""

from __future__ import annotations

from journeyman.world import DenialForm, Lexicon, Slot
from journeyman.world.slots import EMAIL, asked, choice, date, money, number, record, time, with_deeds, with_questions
from journeyman.worlds.airline_cargo import catalogue as data
from journeyman.worlds.airline_cargo.proposals import PROPOSALS
from journeyman.worlds.airline_cargo.questions import ASK

MONEY = [
    money("balance", "balance", "outstanding", "you owe"),
    money("credit_limit", "credit limit"),
    money("headroom", "headroom", "left of the limit", "credit left"),
    money("past_due", "past due", "past-due sum", "overdue", "overdue sum"),
    money("freight", "freight", "freight charge"),
    money("fuel", "fuel", "fuel surcharge"),
    money("total_price", "total", "in total", "altogether", "all in"),
    money(
        "storage",
        "storage",
        "storage charge",
        "storage charges",
        "left to pay",
        "remains to be paid",
        "reduced",
        "which leaves",
    ),
    money("fee", "fee", "fee of", "cancellation fee", "no-show fee", "amendment fee", "handling fee", "dg fee"),
    money("waived_amount", "waive", "waived", "waiver", "waiver of"),
    money("claim_amount", "claim", "claimed", "claim of", "settle", "settled", "settlement", "settlement of"),
    money("liability_cap", "cap", "liability cap", "limit of liability", "at most", "maximum"),
    money("per_kg", "per kg", "a kg", "per kilo", "rate"),
    money("approval_amount", "approval for", "approve", "approved up to"),
]
DATES = [
    date("departure_date", "departs on", "leaves on", "departure", "flight on", "flies on"),
    date("arrival_date", "arrived on", "arrival", "arrives on"),
    date("delivery_date", "delivered on", "delivery", "released on"),
    date("event_date", "last seen", "last event", "as of", "scan", "scanned", "last reached", "latest event"),
    date("deadline", "deadline", "until", "no later than", "last day", "notice by"),
    date(
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
    date("due_date", "due on", "due date"),
    date("waiver_date", "last waiver", "waived on", "goodwill", "used on", "used up on"),
]
NUMBERS = [
    number("pieces", "pieces", "piece", "piece count", "number of pieces", "pcs"),
    number("weight_kg", "gross weight", "gross", "actual weight", "weighs"),
    number("volume_cbm", "volume", "cbm", "cubic meters", "cubic metres", "m3"),
    number("chargeable_kg", "chargeable weight", "chargeable", "chargeable kg"),
    number("affected_kg", "affected", "damaged weight", "affected weight", "missing weight"),
    number(
        "piece_kg",
        "heaviest piece",
        "heaviest piece weighs",
        "piece weight",
        "weight of the piece",
        "piece weighs",
        "pieces weigh",
        "weigh each",
    ),
    number("height_cm", "height", "high", "tall", "tallest"),
    number("length_cm", "length", "long", "longest"),
    number(
        "max_height_cm",
        "height limit",
        "highest allowed",
        "maximum height",
        "max height",
        "limit of height",
        "greatest height",
        "can be the high",
    ),
    number("max_length_cm", "length limit", "maximum length"),
    number(
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
    number("divisor", "divisor", "volumetric divisor"),
    number(
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
    number("charged_days", "charged days", "days charged", "days of storage"),
    number(
        "hours_left",
        "hours before departure",
        "hours left",
        "hours to departure",
        "hours to go",
        "departs in",
        "leaves in",
    ),
    number("cutoff_minutes", "minutes before departure", "cut-off minutes", "cutoff minutes"),
    number("dg_limit_kg", "per package", "package limit", "limit per package"),
    number("packages", "packages"),
    number("houses", "houses", "house waybills"),
    number("leg_no", "leg"),
]
PERCENT = [Slot("discount", "percent", ["discount", "off", "discount of"])]
IDS = [
    # Without cues: a waybill number speaks for itself.
    Slot("awb", "id", [], pattern=r"927-\d{8}"),
    record("client_id", r"CL-\d{4}", "client number", "client id", "client"),
    record("contract_id", r"CT-\d{4}", "contract", "contract number"),
    record("booking_id", r"BK-\d{4}", "booking", "booking number"),
    record(
        "flight_id",
        r"FL-\d{4}",
        "flight",
        "flight id",
        "moved to",
        "rebooked to",
        "flies on",
        "booked on",
        "moved",
        "rebooked",
        "you're on",
        "now on",
    ),
    record("onward_flight_id", r"FL-\d{4}", "onward flight", "onward", "connecting flight", "connecting to"),
    record("case_id", r"CS-\d{4}", "case", "case number"),
    record("charge_id", r"CH-\d{4}", "charge", "charge number"),
    record("claim_id", r"CLM-\d{4}", "claim", "claim number"),
    record("declaration_id", r"DG-\d{4}", "declaration", "declaration number"),
    record("embargo_id", r"EM-\d{3,4}", "embargo", "embargo number"),
    record("container_id", r"RKN-\d{4}", "container"),
    record("house_id", r"HW-\d{4}", "house", "house waybill"),
    record("approval_id", r"AP-\d{4}", "approval"),
    record("invoice_id", r"INV-\d{4}", "invoice"),
    record("account_id", r"CA-\d{4}", "account"),
    record("irregularity_id", r"IR-\d{4}", "irregularity", "report"),
    record("un_number", r"UN\d{4}", "un number"),
    time("clock", "at", "cut-off", "cutoff", "local time", "utc"),
    record("email", EMAIL, "email address", "e-mail address"),
]
WHO = [asked(name) for name in ("pin", "release_pin", "name", "receiver_name", "dimensions")]
_STATIONS = {str(row[0]): [str(row[0]).lower(), str(row[1]).lower()] for row in data.STATIONS}


def _place(name: str, cues: list[str]) -> Slot:
    return Slot(name, "choice", cues, values=_STATIONS)


CHOICES = [
    _place("station", ["station", "at", "in", "seen", "seen at"]),
    _place("destination", ["destination", "bound for", "going to", "on its way to", "heading to"]),
    _place("origin", ["origin", "from"]),
    choice(
        "shipment_status",
        ["status", "shipment", "waybill", "it is", "it's", "currently", "927", "it has already been"],
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
    choice("hold", ["hold", "held"], {"client": ["client hold"], "security": ["security hold"], "customs": ["customs hold"], "unpaid": ["unpaid hold"]}),
    choice("product", ["product", "service"], {"general": ["general cargo"], "express": [], "perishable": ["perishables"], "pharma": [], "live_animals": []}),
    choice("commodity", ["goods", "commodity"], {row[0]: [row[1].lower()] for row in data.COMMODITIES}),
    choice("aircraft_kind", ["aircraft"], {"passenger": ["passenger aircraft"], "cargo_only": ["cargo aircraft", "cargo aircraft only", "freighter"]}),
    choice("packing_group", ["packing group"], {"I": ["pg i"], "II": ["pg ii"], "III": ["pg iii"]}),
    choice("dg_status", ["declaration"], {"accepted": [], "rejected": ["sent back"], "submitted": []}),
    choice("dg_reason", ["because", "reason"], {"unsigned": ["not signed", "signature is missing"], "class_mismatch": ["wrong class"], "packages": [], "over_limit": ["above the limit", "over the limit"], "station": []}),
    choice("booking_status", ["booking"], {"confirmed": [], "waitlisted": [], "cancelled": ["canceled"], "no_show": ["no-show"], "flown": []}),
    choice("priority", ["priority"], {"must_ride": ["must-ride"], "standard": []}),
    choice("claim_status", ["claim"], {"open": ["opened"], "settled": [], "rejected": []}),
    choice("case_status", ["case"], {"open": ["opened"], "pending": [], "closed": []}),
    choice("account_status", ["account", "credit account"], {"active": [], "held": ["on hold"], "closed": []}),
    choice("hold_reason", ["because", "reason"], {"past_due": ["invoices past due", "past-due invoices"], "over_limit": ["limit exceeded"], "fraud_review": []}),
    choice("approval_status", ["approval", "manager"], {"pending": ["waiting", "still outstanding"], "approved": [], "rejected": []}),
    choice("contract_status", ["contract"], {"active": ["valid"], "expired": ["run out"], "draft": []}),
    choice("flight_status", ["flight"], {"scheduled": ["on time"], "delayed": [], "closed": [], "departed": ["left"], "cancelled": ["canceled"]}),
    choice("cutoff_state", ["cut-off", "cutoff"], {"passed": ["has passed", "too late"], "open": ["still open", "not passed"]}),
]  # fmt: skip

DENIALS = [
    DenialForm("amendment", ["amend the waybill", "amend", "amendment", "change the waybill", "change the weight", "change the pieces", "change the consignee", "correct the pieces", "correct the piece count", "change the piece count", "update the pieces"]),
    DenialForm("booking", ["book the shipment", "book", "make the booking", "accept the booking", "take the shipment"]),
    DenialForm("rebooking", ["rebook", "rebook the shipment", "rebooking", "move the shipment", "move it", "move 927"]),
    DenialForm("cancellation", ["cancel the booking", "cancel booking"]),
    DenialForm("cancellation_fee", ["waive the cancellation fee", "cancel free of charge", "free cancellation"]),
    DenialForm("release", ["release the shipment", "release shipment", "release 927", "hand over the shipment", "release the goods", "hand the over", "release is", "release isn't"]),
    DenialForm("claim", ["accept the claim", "open a claim", "pay the claim", "settle the claim", "take the claim", "reject the claim", "decline the claim", "refuse the claim", "claim is", "claim isn't"]),
    DenialForm("fee_waiver", ["waive the charge", "waive the fee", "waive the storage", "waiver"]),
    DenialForm("discount", ["give a discount", "apply a discount", "grant a discount", "discount"]),
    DenialForm("dg_acceptance", ["accept the declaration", "accept the dangerous goods", "accept dangerous goods", "take the dangerous goods"]),
    DenialForm("credit_release", ["lift the account hold", "lift the hold on the account", "release the account", "raise the limit"]),
    DenialForm("priority", ["set must ride", "make it must ride", "change the priority", "set the priority"]),
    DenialForm("account_access", ["give you access", "discuss the account", "discuss this account", "share account details", "discuss the shipment", "share details"]),
    DenialForm("lift_hold", ["lift the hold on the shipment", "lift the hold", "remove the hold", "take off the hold", "take the hold off", "end the hold"]),
]  # fmt: skip

SLOTS = (*MONEY, *DATES, *NUMBERS, *PERCENT, *IDS, *WHO, *CHOICES)
DEEDS = (
    *("waived_amount", "claim_amount", "discount", "email", "charge_id", "claim_id", "container_id"),
    *("flight_id", "shipment_status", "hold", "dg_status", "booking_status", "priority", "claim_status", "case_status"),
    *("account_status", "approval_status"),
)
"""What is so because it was done; all else (a fee, a weight, a limit, a date) is information."""
LEXICON = Lexicon(with_deeds(with_questions(SLOTS, ASK), DEEDS), PROPOSALS, DENIALS)
