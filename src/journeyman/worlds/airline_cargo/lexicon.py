"""The words of the cargo desk: how a message speaks of its values, its writes and its refusals.

Slots named like a tool argument or result (`awb`, `chargeable_kg`, `hold`) mean the same thing.
"""

from __future__ import annotations

from journeyman.world import DenialForm, Lexicon, ProposalForm, Slot
from journeyman.world.slots import EMAIL, asked, choice, date, money, number, record, with_questions
from journeyman.worlds.airline_cargo import catalogue as data
from journeyman.worlds.airline_cargo.questions import ASK

MONEY = [
    money("balance", "balance", "outstanding", "you owe"),
    money("credit_limit", "credit limit"),
    money("headroom", "headroom", "left of the limit", "credit left"),
    money("past_due", "past due", "past-due sum", "overdue", "overdue sum"),
    money("freight", "freight", "freight charge"),
    money("fuel", "fuel", "fuel surcharge"),
    money("total_price", "total", "in total", "altogether", "all in"),
    money("storage", "storage", "storage charge", "storage charges"),
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
    date("event_date", "last seen", "last event", "as of"),
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
    record("flight_id", r"FL-\d{4}", "flight", "flight id", "moved to", "rebooked to", "flies on", "booked on"),
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
    record("clock", r"\d{1,2}:\d{2}", "at", "cut-off", "cutoff", "local time", "utc"),
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
    choice("approval_status", ["approval", "manager"], {"pending": ["waiting"], "approved": [], "rejected": []}),
    choice("contract_status", ["contract"], {"active": ["valid"], "expired": ["run out"], "draft": []}),
    choice("flight_status", ["flight"], {"scheduled": ["on time"], "delayed": [], "closed": [], "departed": ["left"], "cancelled": ["canceled"]}),
    choice("cutoff_state", ["cut-off", "cutoff"], {"passed": ["has passed", "too late"], "open": ["still open", "not passed"]}),
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

SLOTS = (*MONEY, *DATES, *NUMBERS, *PERCENT, *IDS, *WHO, *CHOICES)
LEXICON = Lexicon(with_questions(SLOTS, ASK), PROPOSALS, DENIALS)
