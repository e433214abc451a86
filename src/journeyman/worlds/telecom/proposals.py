"""How the writes of the telecom desk are proposed to customers: verbs, things agreed to, sums charged. Pure data.

"the" inside a phrase stands for up to three words, numbers not counted.
"""

from __future__ import annotations

from journeyman.world import ProposalForm
from journeyman.worlds.telecom import catalogue as data

FEATURES = {
    "roaming": ["roaming"],
    "voicemail": ["voicemail", "voice mail"],
    "data_cap": ["data cap", "data limit"],
    "call_barring": ["call barring"],
    "wifi_calling": ["wifi calling", "wi-fi calling"],
}
_NUMBER = {"phone": "phone"}
"""A customer knows a line by its number."""

PROPOSALS = [
    ProposalForm(
        "take_payment",
        [
            *("charge", "take a payment", "take the payment", "take payment", "collect", "debit", "use that one"),
            *("use this one", "use that card", "use that account", "use your bank account"),
        ],
        {"amount": "payment_amount", "method_id": "method_id"},
        also={"method_digits": "method_digits"},
        nouns=["payment", "charge"],
        loose=["pay", "put", "take", "use", "settle", "run"],
    ),
    ProposalForm(
        "change_plan",
        ["change the plan", "change your plan", "move you to", "be moved to", "switch you to"]
        + [
            f"{verb} {to} {plan[0].replace('-', ' ')}"
            for verb in ("change", "switch", "move")
            for to in ("the to", "to", "to the")
            for plan in data.PLANS
        ],
        {"plan_id": "plan"},
        nouns=["plan change", "change of plan", "change of your plan"]
        + [f"{noun} to {to}{plan[0]}" for noun in ("change", "switch", "move") for to in ("", "the ") for plan in data.PLANS],
        loose=["put you on", "put you onto", "get you on", "get you onto", "set your plan", "switch", "move"],
    ),
    ProposalForm(
        "bill_proration",
        [
            f"{verb} {what}"
            for verb in ("bill", "charge", "credit", "add", "apply", "settle")
            for what in ("the proration", "the prorated")
        ],
        {"amount": "proration"},
        nouns=["proration", "prorated charge", "prorated credit", "proration charge", "proration credit"],
        prices=["proration", "prorated charge", "proration charge", "prorated credit", "proration credit"],
    ),
    ProposalForm(
        "apply_credit",
        ["credit your account", "apply a credit", "give you a credit", "credit the to your account", "give you the of credit"],
        {"amount": "credit_amount"},
        nouns=["credit"],
        loose=["credit"],
    ),
    ProposalForm(
        "waive_late_fee",
        [
            *("waive the late fee", "waive the fee", "remove the late fee", "remove the fee", "take the late fee off"),
            *("take the fee off", "take off the late fee", "drop the late fee", "cancel the late fee"),
            *("reverse the late fee", "write off the late fee"),
        ],
        {"invoice_id": "invoice_id"},
        nouns=["waiver", "fee waiver", "waiver of the late fee"],
    ),
    ProposalForm(
        "refund_payment",
        ["refund", "send back", "pay back", "give back"],
        {"amount": "refund_amount", "payment_id": "payment_id"},
        nouns=["refund"],
        loose=["return", "send the back", "transfer the back"],
        near=["payment_id", "refund_amount"],
    ),
    ProposalForm(
        "create_payment_arrangement",
        [
            *("set up a payment arrangement", "set up an arrangement", "spread the amount", "split the amount"),
            *("arrange installments", "make a payment arrangement", "create a payment arrangement"),
        ],
        {"installments": "installments", "first_due": "first_due"},
        nouns=["arrangement", "payment arrangement", "installment plan"],
        loose=["spread", "split"],
    ),
    ProposalForm("set_autopay", ["set autopay", "turn autopay", "switch autopay"], {"state": "autopay"}),
    ProposalForm(
        "suspend_line",
        ["suspend", "suspend the line", "suspend line", "pause the line", "pause line"],
        {"line_id": "line_id"},
        _NUMBER,
        nouns=["suspension", "pause"],
        loose=["pause", "put the on pause", "put the on hold"],
    ),
    ProposalForm(
        "restore_line",
        [
            *("restore", "restore the line", "restore line", "reactivate", "unsuspend", "lift the suspension"),
            *("turn the line back on", "switch the back on", "turn the back on", "end the suspension", "remove the suspension", "bring the line back"),
        ],
        {"line_id": "line_id"},
        _NUMBER,
        nouns=["restoration", "reactivation"],
    ),
    *(
        ProposalForm(
            "set_line_feature",
            [f"{verb} the {cue}" for verb in ("turn", "switch") for cue in cues],
            also={name: name},
        )
        for name, cues in FEATURES.items()
    ),
    ProposalForm(
        "send_invoice_copy", ["send a copy", "email a copy", "send the invoice"], {"invoice_id": "invoice_id"}
    ),
    ProposalForm(
        "set_bill_delivery",
        [f"{verb} the {what}" for verb in ("switch", "change", "set") for what in ("bills", "bill delivery")],
        {"delivery": "bill_delivery"},
    ),
    ProposalForm(
        "request_port_out",
        [
            *("release the number", "port out", "release your number", "port your number", "port the number"),
            *("port the out", "port the to", "release the to", "transfer the to", "hand the over to", "hand the to", "let the go to"),
            *(f"move the to {carrier}" for carrier in data.CARRIERS),
            *(f"move to {carrier}" for carrier in data.CARRIERS),
        ],
        {"line_id": "line_id", "carrier": "carrier"},
        _NUMBER,
        nouns=["release", "port out", "port", "transfer", "number transfer"],
        loose=["release"],
    ),
    ProposalForm(
        "resubmit_port_in",
        [
            *("resubmit", "resubmit the request", "resubmit the port request", "resubmit port request", "resend"),
            *("send the request again", "send the port request again", "send port request", "send request"),
            *("re-submit", "re-send", "retry", "try the port", "try the transfer", "try the request", "try the porting"),
            *("send it again", "send the again", "send the request to",
            *("submit the once more", "send the once more", "submit the port request", "submit port request", "sent the once more"), "submit the again", "submit it again"),
        ],
        {"port_id": "port_id"},
        {"carrier": "carrier"},
        nouns=["resubmission", "port request", "new port request"],
    ),
    ProposalForm(
        "replace_sim",
        [
            *("replace the sim", "replace your sim", "send a new sim", "send the sim card", "send a sim card"),
            *("order a new sim", "order the sim", "order a sim card", "order the sim card", "set up a new sim"),
            *("issue a new sim", "issue a sim", "ship a new sim", "swap the sim", "activate a new sim"),
        ],
        {"line_id": "line_id"},
        _NUMBER,
        nouns=["sim replacement", "sim swap", "new sim", "new sim card", "replacement sim"],
    ),
    ProposalForm("add_addon", ["add the add-on", "add"], {"addon_id": "addon"}, loose=["activate", "book"]),
    ProposalForm("remove_addon", ["remove the add-on", "remove"], {"addon_id": "addon"}, loose=["cancel", "deactivate"]),
    ProposalForm(
        "open_dispute",
        ["open a dispute", "dispute", "file a dispute", "register a dispute", "raise a dispute"],
        {"invoice_id": "invoice_id"},
    ),
    ProposalForm(
        "set_default_payment_method",
        ["make the default", "make your default", "set as default"],
        {"method_id": "method_id"},
    ),
    ProposalForm(
        "update_contact",
        [
            *("update your email", "change your email", "update your contact", "set your email", "replace your email"),
            *("replace your old email", "set the email", "change the email", "update the email"),
            *("change the name", "update the name", "correct the name"),
            *("as your new email", "as your email", "as the new email", "as the email", "as your contact email"),
        ],
        {},
        loose=["change it to", "save it", "save this", "put", "save", "set it to", "update it to", "store", "enter"],
        near=["email"],
    ),
]  # fmt: skip
