"""The words of the telecom desk: how a message speaks of its values, its writes and its refusals.

Slots named like a tool argument or result (`phone`, `monthly_price`, `roaming`) mean the same thing. A denial slot
that is also done ("a copy was sent", "the fee is waived") is read as stated.
"""

from __future__ import annotations

from journeyman.world import DenialForm, Lexicon, Slot
from journeyman.world.slots import EMAIL, asked, choice, date, money, number, record, with_deeds, with_questions
from journeyman.worlds.telecom import catalogue as data
from journeyman.worlds.telecom.proposals import FEATURES, PROPOSALS
from journeyman.worlds.telecom.questions import ASK

_LAST_DIGITS = (
    "(?:" + "|".join(f"(?<={words} )" for words in ("ending in", "ending", "bank account", "card", "visa")) + r")\d{4}"
)
_SWITCH = {
    "on": ["turned on", "switched on", "is on", "it's on", "now on", "already on", "back on", "enabled", "activated"],
    "off": ["turned off", "switched off", "is off", "it's off", "now off", "already off", "disabled", "deactivated"],
}


def _switch(name: str, cues: list[str]) -> Slot:
    # A bare "on" is too common a word to be a value; "turned roaming on" is one of roaming alone.
    verbs = ("turn", "turned", "turning", "switch", "switched", "switching")
    things = [f"{which}{cue}" for which in ("", "the ", "your ") for cue in cues]
    values = {
        state: [
            *phrases,
            *(f"{verb} {thing} {state}" for verb in verbs for thing in things),
            *(f"{verb} {state} {thing}" for verb in ("turn", "switch") for thing in things),
        ]
        for state, phrases in _SWITCH.items()
    }
    return Slot(name, "choice", cues, values=values)


MONEY = [
    money("balance", "balance", "total due", "you owe", "owe", "outstanding"),
    money("past_due", "past due", "past-due amount", "past-due balance", "overdue", "overdue amount"),
    money(
        "payment_amount",
        "payment of",
        "charge",
        "charged",
        "pay",
        "paid",
        "take",
        "taken",
        "took",
        "payment went through",
    ),
    money("payment_limit", "payment limit", "limit"),
    money("invoice_due", "invoice is for", "still due", "invoice amount", "amount due"),
    money("credit_amount", "credit", "credit of", "credited"),
    money("late_fee", "late fee", "late charge", "late payment fee"),
    money("refund_amount", "refund", "refund of", "refunded", "refunded the payment of", "payment of the refunded"),
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
    "active": [
        *("active again", "working again", "works again", "up and running", "restored", "reactivated", "back on"),
        *("no longer suspended", "not suspended any more", "not suspended anymore", "isn't suspended any more"),
    ],
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
    choice("line_status", ["line", "line's"], _LINE),
    choice("account_status", ["account"], _LINE),
    choice(
        "suspend_reason",
        ["because", "reason", "reported", "due to", "suspended as"],
        {
            "lost": ["reported lost"],
            "stolen": ["reported stolen", "theft"],
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

DENIALS = [
    DenialForm("refund", ["refund", "refund the payment", "give your money back", "money back"]),
    DenialForm(
        "fee_waiver",
        [
            *("waive the late fee", "waive the fee", "waive", "waiver", "fee waiver", "remove the late fee"),
            *("late fee has to stay", "late fee must stay", "late fee has to remain", "take the late fee off"),
        ],
    ),
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
            *(
                "provide a credit",
                "provide any credit",
                "offer any credit",
                "entitled to a credit",
                "credit the charge",
            ),
            *(
                "credit is",
                "credit isn't",
                "credit was",
                "credit wasn't",
                "credit cannot",
                "credit can't",
                "credit that you",
            ),
            *("credit you", "credit that amount", "approve the credit", "make an exception on the credit"),
        ],
    ),
    DenialForm(
        "plan_change",
        [
            *("change the plan", "change your plan", "plan change", "switch plans", "move you to", "switch you to"),
            *("put you on the plan", "downgrade you", "upgrade you to"),
            *(f"{verb} to {plan[0]}" for verb in ("switch", "change", "downgrade") for plan in data.PLANS),
            *(f"{verb} to the {plan[0]}" for verb in ("switch", "change", "downgrade") for plan in data.PLANS),
        ],
    ),
    DenialForm("port_out", ["port out", "port the number", "port your number", "release the number"]),
    DenialForm("addon", ["add the add-on", "add extra data", "add the extra data", "sell extra data", "extra data"]),
    DenialForm(
        "port_in",
        [
            *("send the request again", "send the port request again", "send it to the other carrier again"),
            *("resubmit the request", "resubmit the port", "resend the request", "resend the port request"),
        ],
    ),
    DenialForm(
        "device_upgrade",
        ["device upgrade", "upgrade", "upgrade the device", "upgrade your device", "upgrade the phone"],
    ),
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
            *("grant access", "access to the account"),
        ],
    ),
    DenialForm("restore", ["restore", "restore the line", "reactivate the line"]),
    DenialForm("name_change", ["change the name", "name change", "update the name", "correct the name"]),
    DenialForm("dispute", ["open a dispute", "open another dispute", "open a second dispute"]),
    DenialForm("suspend", ["suspend the line"]),
    DenialForm("data_cap", ["turn on the data cap", "turn off the data cap"]),
    DenialForm("invoice_copy", ["send an invoice copy", "invoice copy", "send a copy"]),
    DenialForm(
        "bill_delivery",
        [
            *("change bill delivery", "change the bill delivery", "set bill delivery", "switch your bills"),
            *("change delivery of the bills", "delivery of the bills cannot", "delivery of the bills can't"),
        ],
    ),
    *(
        DenialForm(
            name,
            [
                f"{verb} the {cue}"
                for cue in cues
                for verb in ("turn on", "turn off", "enable", "disable", "switch on", "activate", "add")
            ]
            + [f"{cue} {no}" for cue in cues for no in ("is not", "isn't")]
            + [f"{verb} the {cue} {state}" for verb in ("turn", "switch") for cue in cues for state in ("on", "off")],
        )
        for name, cues in FEATURES.items()
    ),
]

SLOTS = (*MONEY, *DATES, *NUMBERS, *IDS, *WHO, *CHOICES)
DEEDS = (
    *("payment_amount", "credit_amount", "refund_amount", "dispute_amount", "email"),
    *("ticket_id", "port_id", "dispute_id", "receipt_no", "sim_id", "arrangement_id", "credit_id", "case_id"),
    *("plan", "addon", "autopay", "line_status", "account_status", "bill_delivery", "sim_kind", *FEATURES),
    *("ticket_status", "port_status", "dispute_status", "approval_status"),
)
"""What is so because it was done; all else (a balance, a fee, a price, a date) is information."""
LEXICON = Lexicon(with_deeds(with_questions(SLOTS, ASK), DEEDS), PROPOSALS, DENIALS)
