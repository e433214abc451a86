"""The words of the telecom desk: how a message speaks of its values, its writes and its refusals.

Slots named like a tool argument or result (`phone`, `monthly_price`, `roaming`) mean the same thing. A denial slot
that is also done ("a copy was sent", "the fee is waived") is read as stated.
"""

from __future__ import annotations

from journeyman.world import DenialForm, Lexicon, ProposalForm, Slot
from journeyman.world.slots import EMAIL, asked, choice, date, money, number, record, with_questions
from journeyman.worlds.telecom import catalogue as data
from journeyman.worlds.telecom.questions import ASK

_LAST_DIGITS = (
    "(?:" + "|".join(f"(?<={words} )" for words in ("ending in", "ending", "bank account", "card", "visa")) + r")\d{4}"
)
_SWITCH = {
    "on": ["turned on", "switched on", "is on", "now on", "already on", "back on", "enabled", "activated"],
    "off": ["turned off", "switched off", "is off", "now off", "already off", "disabled", "deactivated"],
}
FEATURES = {
    "roaming": ["roaming"],
    "voicemail": ["voicemail", "voice mail"],
    "data_cap": ["data cap", "data limit"],
    "call_barring": ["call barring"],
    "wifi_calling": ["wifi calling", "wi-fi calling"],
}


def _switch(name: str, cues: list[str]) -> Slot:
    # A bare "on" is too common a word to be a value; "turned roaming on" is one of roaming alone.
    turned = [
        f"{verb} {which}{cue}"
        for verb in ("turn", "turned", "turning", "switch", "switched", "switching")
        for which in ("", "the ", "your ")
        for cue in cues
    ]
    values = {state: [*phrases, *(f"{words} {state}" for words in turned)] for state, phrases in _SWITCH.items()}
    return Slot(name, "choice", cues, values=values)


MONEY = [
    money("balance", "balance", "total due", "you owe", "outstanding"),
    money("past_due", "past due", "past-due amount", "past-due balance", "overdue", "overdue amount"),
    money("payment_amount", "payment of", "charge", "charged", "pay", "paid", "take"),
    money("payment_limit", "payment limit", "limit"),
    money("invoice_due", "invoice is for", "still due", "invoice amount", "amount due"),
    money("credit_amount", "credit", "credit of", "credited"),
    money("late_fee", "late fee", "late charge", "late payment fee"),
    money("refund_amount", "refund", "refund of", "refunded"),
    money("dispute_amount", "dispute", "disputed", "disputed amount", "overage of", "overage charge of"),
    money("monthly_price", "a month", "per month", "monthly", "monthly price", "each month", "price", "costs"),
    money(
        "installment",
        "installment",
        "installment of",
        "installments of",
        "each installment",
        "first installment the due on",
    ),
    money(
        "proration",
        "proration",
        "prorated",
        "prorated amount",
        "prorated charge",
        "prorated credit",
        "proration charge",
        "proration credit",
        "prorated charge of",
        "prorated credit of",
        "proration charge of",
        "proration credit of",
        "proration of",
        "proration is a charge of",
        "proration is a credit of",
    ),
    money(
        "device_balance",
        "device balance",
        "left on the device",
        "remaining on the device",
        "still to be paid",
        "remainder",
        "to pay on the device",
        "owed on the device",
    ),
]
DATES = [
    date("due_date", "due on", "due date", "due by"),
    date("contract_end", "contract", "contract ends", "contract end", "contract runs"),
    date("first_due", "first installment", "first installment the due on", "first one", "starting", "start date"),
    date("last_waiver", "last waiver", "previous waiver", "waived on", "waived last"),
    date(
        "last_credit",
        "last roaming credit",
        "last goodwill credit",
        "last credit",
        "previous credit",
        "roaming credit on",
        "goodwill credit on",
        "credit on",
        "roaming credit was",
        "goodwill credit was",
        "credited on",
    ),
    date("next_bill", "next bill", "next bill on", "next invoice"),
    date("possible_from", "possible from", "possible on", "first possible day", "earliest date", "earliest day"),
    date(
        "decision_date",
        "decided by",
        "decision by",
        "decision date",
        "decision is due",
        "decision is due by",
        "decision will be made by",
        "decide by",
    ),
    date("payment_date", "paid on", "payment date", "last payment"),
]
NUMBERS = [
    number("open_invoices", "open invoices", "unpaid invoices", "open invoice"),
    number("data_gb", "gb", "gb of data", "data allowance"),
    number("months_owned", "months owned", "owned it for", "owned the device for", "owned for", "months old"),
    number("installments", "installments", "installments of", "monthly installments"),
    number("outage_hours", "hours", "hours long", "outage hours"),
    number("days_left", "days left", "days left in the cycle", "remaining days", "days remaining"),
    number("broken_promises", "broken promises", "broken promise", "promises"),
    number("item_number", "item", "item number"),
]
IDS = [
    record("line_id", r"LN-\d{4}", "line", "line id"),
    record("account_id", r"A-\d{4}", "account", "account number"),
    record("customer_id", r"C-\d{4}", "customer number"),
    record("invoice_id", r"INV-\d{4}", "invoice", "invoice number", "bill number"),
    record("ticket_id", r"TK-\d{4}", "ticket", "ticket number"),
    record("case_id", r"CS-\d{4}", "case", "case number"),
    record("payment_id", r"PAY-\d{4}", "payment number", "payment id"),
    record("method_id", r"PM-\d{4}", "payment method", "saved method", "method", "card"),
    record("arrangement_id", r"AR-\d{4}", "arrangement", "arrangement number"),
    record("approval_id", r"AP-\d{4}", "approval"),
    record("credit_id", r"CR-\d{4}", "credit number"),
    record("dispute_id", r"DSP-\d{4}", "dispute number"),
    record("receipt_no", r"RC-\d{5}", "receipt", "receipt number", "number of the receipt", "number on the receipt"),
    record("port_id", r"PRT-\d{4}", "port request"),
    record("sim_id", r"SIM-\d{4}", "sim", "new sim"),
    record("outage_id", r"OUT-\d{4}", "outage number"),
    # How people name a saved method: "the bank account ending in 5963", "your Visa 4242".
    record("method_digits", _LAST_DIGITS),
    record("email", EMAIL, "email address", "e-mail address"),
]
WHO = [
    Slot("phone", "phone", []),
    *(asked(name) for name in ("name", "pin", "port_pin")),
    choice("carrier", ["carrier", "provider"], {name: [] for name in data.CARRIERS}),
    choice("city", ["city", "town", "area"], {city: [] for city, _, _ in data.CITIES}),
]
_LINE = {
    "active": ["active again", "working again"],
    "suspended": ["paused"],
    "closed": ["terminated"],
}
CHOICES = [
    *(_switch(name, cues) for name, cues in FEATURES.items()),
    _switch("autopay", ["autopay", "auto pay", "automatic payment"]),
    choice(
        "plan",
        ["plan", "tariff"],
        {plan[0]: [plan[1].lower(), plan[1].lower().replace("business", "biz")] for plan in data.PLANS},
    ),
    choice("addon", ["add-on", "addon", "extra"], {addon[0]: [addon[1].lower()] for addon in data.ADDONS}),
    choice("line_status", ["line"], _LINE),
    choice("account_status", ["account"], _LINE),
    choice(
        "suspend_reason",
        ["because", "reason", "reported"],
        {
            "lost": ["reported lost"],
            "stolen": ["reported stolen"],
            "vacation": ["vacation pause"],
            "nonpayment": ["non-payment", "unpaid bills", "for not paying"],
        },
    ),
    choice(
        "bill_delivery",
        ["bill delivery", "bills", "billing", "delivery"],
        {"paper": ["on paper", "by post", "paper bills"], "email": ["by email", "by e-mail", "e-mail"]},
    ),
    choice(
        "ticket_status",
        ["ticket"],
        {"open": ["still open"], "closed": [], "pending": []},
    ),
    choice(
        "port_status",
        ["port", "port request", "transfer of your number", "transfer", "number transfer", "prt"],
        {"requested": [], "completed": [], "cancelled": ["canceled"], "rejected": []},
    ),
    choice(
        "outage_status",
        ["outage", "fault"],
        {"ongoing": ["still going on", "not fixed yet"], "resolved": ["fixed"]},
    ),
    Slot(
        "sim_kind",
        "choice",
        ["sim"],
        values={"physical": ["sim card", "physical sim", "sim card by post", "card by post"], "esim": ["esim"]},
    ),
    choice("outage_kind", [], {"planned": ["planned work", "planned maintenance"], "fault": []}),
    choice(
        "method_status",
        ["card", "method", "payment method"],
        {"valid": [], "expired": ["out of date"], "blocked": []},
    ),
    choice(
        "dispute_status",
        ["dispute"],
        {"open": ["still open", "under review", "being reviewed"], "upheld": [], "rejected": []},
    ),
    choice("approval_status", ["approval", "supervisor"], {"pending": ["waiting"], "approved": [], "rejected": []}),
]

_NUMBER = {"phone": "phone"}
"""A customer knows a line by its number."""
PROPOSALS = [
    ProposalForm(
        "take_payment",
        ["charge", "take a payment", "take the payment", "take payment", "collect"],
        {"amount": "payment_amount", "method_id": "method_id"},
        also={"method_digits": "method_digits"},
    ),
    ProposalForm(
        "change_plan",
        ["change the plan", "change your plan", "move you to", "be moved to", "switch you to"]
        + [f"{verb} the to {plan[0]}" for verb in ("change", "switch", "move") for plan in data.PLANS],
        {"plan_id": "plan"},
    ),
    ProposalForm(
        "bill_proration",
        [
            f"{verb} {what}"
            for verb in ("bill", "charge", "credit", "add", "apply", "settle")
            for what in ("the proration", "the prorated")
        ]
        + ["prorated charge", "prorated credit", "proration charge", "proration credit"],
        {"amount": "proration"},
    ),
    ProposalForm(
        "apply_credit", ["credit your account", "apply a credit", "give you a credit"], {"amount": "credit_amount"}
    ),
    ProposalForm("waive_late_fee", ["waive the late fee", "waive the fee"], {"invoice_id": "invoice_id"}),
    ProposalForm(
        "refund_payment",
        ["refund", "send back", "pay back"],
        {"amount": "refund_amount", "payment_id": "payment_id"},
    ),
    ProposalForm(
        "create_payment_arrangement",
        ["set up a payment arrangement", "set up an arrangement", "spread the amount", "split the amount"],
        {"installments": "installments", "first_due": "first_due"},
    ),
    ProposalForm("set_autopay", ["set autopay", "turn autopay", "switch autopay"], {"state": "autopay"}),
    ProposalForm("suspend_line", ["suspend", "suspend the line", "suspend line"], {"line_id": "line_id"}, _NUMBER),
    ProposalForm("restore_line", ["restore", "restore the line", "restore line"], {"line_id": "line_id"}),
    ProposalForm(
        "request_port_out",
        ["release the number", "port out", "release your number", "port your number"],
        {"line_id": "line_id", "carrier": "carrier"},
        _NUMBER,
    ),
    ProposalForm(
        "resubmit_port_in",
        [
            *("resubmit", "resubmit the request", "resubmit the port request", "resubmit port request", "resend"),
            *("send the request again", "send the port request again", "send port request", "send request"),
        ],
        {"port_id": "port_id"},
        {"carrier": "carrier"},
    ),
    ProposalForm(
        "replace_sim",
        [
            *("replace the sim", "replace your sim", "send a new sim", "send the sim card", "send a sim card"),
            *("order a new sim", "order the sim", "order a sim card", "order the sim card", "set up a new sim"),
        ],
        {"line_id": "line_id"},
        _NUMBER,
    ),
    ProposalForm("add_addon", ["add the add-on", "add"], {"addon_id": "addon"}),
    ProposalForm("remove_addon", ["remove the add-on", "remove"], {"addon_id": "addon"}),
    ProposalForm("open_dispute", ["open a dispute", "dispute"], {"invoice_id": "invoice_id"}),
    ProposalForm(
        "set_default_payment_method",
        ["make the default", "make your default", "set as default"],
        {"method_id": "method_id"},
    ),
    ProposalForm("update_contact", ["update your email", "change your email", "update your contact"], {}),
]

DENIALS = [
    DenialForm("refund", ["refund", "refund the payment", "give your money back", "money back"]),
    DenialForm("fee_waiver", ["waive the late fee", "waive the fee", "fee waiver", "remove the late fee"]),
    DenialForm(
        "credit",
        [
            "for a credit",
            "no credit",
            "apply a credit",
            "give a credit",
            "credit your account",
            "credit the account",
            "grant a credit",
            "offer a credit",
            "issue a credit",
        ],
    ),
    DenialForm("plan_change", ["change the plan", "change your plan", "plan change", "switch plans", "move you to"]),
    DenialForm("port_out", ["port out", "port the number", "port your number", "release the number"]),
    DenialForm("addon", ["add the add-on", "add extra data", "add the extra data", "sell extra data", "extra data"]),
    DenialForm(
        "port_in",
        [
            *("send the request again", "send the port request again", "send it to the other carrier again"),
            *("resubmit the request", "resubmit the port", "resend the request", "resend the port request"),
        ],
    ),
    DenialForm("device_upgrade", ["device upgrade", "upgrade the device", "upgrade your device", "upgrade the phone"]),
    DenialForm("payment", ["take the payment", "take a payment", "accept the payment", "charge the card"]),
    DenialForm("arrangement", ["payment arrangement", "set up an arrangement", "arrange installments"]),
    DenialForm(
        "account_access",
        [
            "give you access",
            "discuss the account",
            "discuss this account",
            "share account details",
            "share any details",
            "make any changes",
            "make changes to the account",
        ],
    ),
    DenialForm("restore", ["restore", "restore the line", "reactivate the line"]),
    DenialForm("name_change", ["change the name", "name change", "update the name", "correct the name"]),
    DenialForm("dispute", ["open a dispute", "open another dispute", "open a second dispute"]),
    DenialForm("suspend", ["suspend the line"]),
    DenialForm("data_cap", ["turn on the data cap", "turn off the data cap"]),
    DenialForm("invoice_copy", ["send an invoice copy", "invoice copy", "send a copy"]),
    DenialForm("bill_delivery", ["change bill delivery", "change the bill delivery", "switch your bills"]),
    *(
        DenialForm(
            name,
            [f"{verb} the {cue}" for cue in cues for verb in ("turn on", "turn off", "enable", "disable", "switch on")]
            + [f"turn the {cue} {state}" for cue in cues for state in ("on", "off")],
        )
        for name, cues in FEATURES.items()
    ),
]

SLOTS = (*MONEY, *DATES, *NUMBERS, *IDS, *WHO, *CHOICES)
LEXICON = Lexicon(with_questions(SLOTS, ASK), PROPOSALS, DENIALS)
