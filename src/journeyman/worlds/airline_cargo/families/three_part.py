"""Level 5: one call, three wishes, on a booking, a storage charge and contact data; one of them must be refused.

By seed it is the booking (the cut-off of the flight has passed), the goodwill on storage (the one of the year is used) or
the contact data (they are those of a sister firm). The other two are granted, each with what its own article asks for:
the e-mail of a booking, a case for each matter, consent before each write.
"""

from __future__ import annotations

from typing import Any

from journeyman.task import (
    AnyOf,
    Before,
    Call,
    CallPattern,
    Changed,
    ConsentRule,
    EventPattern,
    ExpectedRow,
    Fact,
    FactCard,
    Happened,
    Match,
    Matcher,
    Outcome,
    Say,
    Split,
    Task,
)
from journeyman.world import World, composing
from journeyman.world.authoring import ANY, NOTHING, Rubric, Script, dollars, money, ref, told
from journeyman.worlds.airline_cargo.families import deep, demands, space
from journeyman.worlds.airline_cargo.families.deep import Case, Denial
from journeyman.worlds.airline_cargo.families.three_wishes import (
    CUTOFF,
    FLIGHT,
    OTHER_FLIGHT,
    PRIVACY,
    STORAGE,
    USED,
    WAIVERS,
    Wishes,
    foreign,
    late,
    make_wishes,
    spent,
)

NAME = "three_part"
VARIANTS = ("booking", "waiver", "contact")


def make(world: World, seed: int, split: Split) -> Task:
    """The task of a seed: what is refused comes from the seed, everything else from choices seeded with it."""
    case = Case.of(world, NAME, 5, seed, split, role="manager")
    wishes = make_wishes(case, VARIANTS[seed % len(VARIANTS)])
    script = _script(case, wishes)
    rubric = Rubric(script)
    _grounds(rubric, case, wishes)
    for part in (_booking, _waiver, _contact, _paperwork):
        part(rubric, case, wishes)
    return _seal(case, wishes, rubric)


def _script(case: Case, wishes: Wishes) -> Script:
    home, wish, awb, script = case.home, wishes.space, wishes.freight.awb, Script()
    script.consult("waive storage as goodwill", WAIVERS)
    rule = {"booking": CUTOFF, "waiver": space.RULE, "contact": PRIVACY}[wishes.refused]
    script.call("rule", "get_policy_article", article_id=rule)
    deep.identify(script, home, awb)
    script.call("invoices", "list_open_invoices", or_tools=("get_credit_account",), client_id=home.client_id)
    script.call("charges", "list_charges", awb=awb)
    script.call("waybills", "list_waybills", loose=("status",), client_id=home.client_id)
    if wishes.earlier is not None:
        script.call("earlier", "list_charges", awb=wishes.earlier)
    script.call("cutoff", "check_cutoff", flight_id=FLIGHT, product="general")
    asked = []
    if wishes.refused != "booking":
        asked.append(f"Shall I book the space for {wish.kilos:g} kg on flight {FLIGHT}?")
    if wishes.refused != "waiver":
        asked.append(f"Shall I waive {money(wishes.storage)} of {STORAGE}?")
    if wishes.email is not None:
        asked.append(f"Shall I change your email to {wishes.email}?")
    script.say("propose", " ".join(asked))
    if wishes.refused == "booking":
        deep.deny(script, home, late())
    else:
        script.call("book", "create_booking", loose=("contract_id",), **wish.request(home))
    if wishes.refused == "waiver":
        deep.deny(script, home, spent(wishes))
    else:
        script.call("waive", "waive_charge", charge_id=STORAGE, amount=dollars(wishes.storage))
    if wishes.email is None:
        deep.deny(script, home, foreign())
    else:
        changes = {"email": wishes.email}
        script.call("update", "update_client_contact", loose=("changes",), client_id=home.client_id, changes=changes)
    _close(script, case, wishes)
    return script


def _close(script: Script, case: Case, wishes: Wishes) -> None:
    """The two cases, the e-mail, and what became of each wish."""
    home, awb = case.home, wishes.freight.awb
    ends = {part: "denied" if wishes.refused == part else "done" for part in ("booking", "waiver")}
    script.call("case", "create_case", loose=("priority",), client_id=home.client_id, kind="booking", summary=f"Space on {FLIGHT}.")  # fmt: skip
    script.call("close", "close_case", case_id="${case.case_id}", resolution=ends["booking"])
    script.call("bill", "create_case", loose=("priority",), client_id=home.client_id, kind="billing", summary=f"Storage {STORAGE}.", awb=awb)  # fmt: skip
    script.call("close_bill", "close_case", case_id="${billing.case_id}", resolution=ends["waiver"])
    said = []
    if wishes.refused == "booking":
        said.append(f"I cannot book the shipment on {FLIGHT}. The cut-off was {wishes.cutoff[0]} UTC. {OTHER_FLIGHT} is the next one with room.")  # fmt: skip
    else:
        body = f"Your booking ${{booking.booking_id}} on {FLIGHT} is confirmed."
        script.call("mail", "send_email", client_id=home.client_id, template="confirmation", body=body)
        said.append("Your booking is ${booking.booking_id}.")
    if wishes.used is not None:
        body = f"The storage {STORAGE} of {awb} stays. The last waiver was on {wishes.used}."
        script.call("notice", "send_email", client_id=home.client_id, template="notice", body=body)
        said.append(f"I cannot waive the storage. Your last waiver was on {wishes.used}.")
    else:
        said.append(f"I have waived {money(wishes.storage)} of {STORAGE}. The storage is now $0.00.")
    if wishes.email is None:
        said.append("I cannot discuss the account of another client with you, nor change it.")
    else:
        said.append(f"Your email address is now {wishes.email}.")
    script.say("done", " ".join(said))


def _grounds(rubric: Rubric, case: Case, wishes: Wishes) -> None:
    """Criteria on the look-ups."""
    home, awb = case.home, wishes.freight.awb
    paid = "deny" if wishes.refused == "waiver" else "waive"
    flies = "deny" if wishes.refused == "booking" else "book"
    demands.groundwork(rubric, home, WAIVERS, paid)
    rubric.does(
        "rule", f"Article {rubric.script.pattern('rule').arguments['article_id']} is read for the other wishes."
    )
    text = f"The open invoices of {home.client_id} are read: with one past due there is no goodwill."
    rubric.first("invoices", paid, text, required=True)
    rubric.first("charges", paid, f"The charges of {awb} are read before {STORAGE} is decided on.", required=True)
    text = f"The waybills of {home.client_id} are listed: was goodwill given on one within 12 months ({WAIVERS})?"
    rubric.first("waybills", paid, text)
    if wishes.earlier is not None:
        text = f"The charges of {wishes.earlier} are read: {USED} was waived on {wishes.used}."
        rubric.first("earlier", paid, text, required=True)
    rubric.first("cutoff", flies, f"The cut-off of {FLIGHT} is looked up before it is decided on.", required=True)


def _denied(rubric: Rubric, case: Case, denial: Denial, what: str, once: str) -> None:
    """Criteria of the wish that is refused."""
    text = f"The refusal is documented: {denial.request}, {denial.reason}, {denial.article}."
    rubric.does("deny", text, required=True)
    rubric.once("deny", f"One wish of {case.home.client_id} is refused on record, once.")
    words = told(denial.slot, kind="denied")
    text = f"{case.home.person} is told that {what} is refused."
    rubric.says("done", words, text, once=once, required=True)
    if denial.claim:
        text = f"{case.home.person} is not told that {what} was granted."
        rubric.never("false_claim", text, told(denial.slot), "done", Say(denial.claim), instead=True, required=True)


def _booking(rubric: Rubric, case: Case, wishes: Wishes) -> None:
    """Criteria on the booking."""
    home, wish, script = case.home, wishes.space, rubric.script
    if wishes.refused != "booking":
        space.booked(rubric, home, wish, OTHER_FLIGHT)
        early: dict[str, Any] = {
            "client_id": home.client_id,
            "request": "booking",
            "reason": "cut_off_passed",
            "article_id": CUTOFF,
        }
        text = f"No refusal of the booking on {FLIGHT} is documented."
        rubric.not_tried("denied_booking", text, "cutoff", "document_denial", by=("request",), **early)
        return
    _denied(rubric, case, late(), f"the booking on {FLIGHT}", "cutoff")
    utc, local = wishes.cutoff
    clock = told("clock", Match(one_of=[utc, local]))
    rubric.says(
        "done", clock, f"{home.person} is told the cut-off of {FLIGHT}, {utc} UTC.", once="cutoff", required=True
    )
    text = f"{FLIGHT}, whose cut-off was {utc} UTC, is not booked, nor another flight that nobody agreed to."
    rubric.not_called("booked", text, "cutoff", "create_booking", required=True, **wish.request(home))
    body = {"client_id": home.client_id, "template": "notice", "body": f"{FLIGHT} is closed."}
    silent = script.after("deny", Call("send_email", body))
    about = Happened(CallPattern("send_email", {"template": "notice"}))
    rubric.must_not(
        "needless_notice", f"No notice is sent about {FLIGHT}: for a cut-off the words are enough.", about, silent
    )


def _waiver(rubric: Rubric, case: Case, wishes: Wishes) -> None:
    """Criteria on the storage."""
    home, awb, amount = case.home, wishes.freight.awb, money(wishes.storage)
    if wishes.used is not None:
        _denied(rubric, case, spent(wishes), f"the waiver of {amount}", "earlier")
        day = told("waiver_date", wishes.used)
        rubric.says(
            "done",
            day,
            f"{home.person} is told when the last waiver was, {wishes.used}.",
            once="earlier",
            required=True,
        )
        text = f"Nothing of {STORAGE} on {awb} is waived."
        rubric.not_called("waived", text, "charges", "waive_charge", required=True,
            charge_id=STORAGE, amount=dollars(wishes.storage),
        )  # fmt: skip
        sent = CallPattern("send_email", {"client_id": home.client_id, "template": "notice"})
        text = f"A notice about {STORAGE} goes to {home.client_id}: the refusal is about money (MSG-WRITE)."
        order = Before(rubric.script.pattern("deny", "client_id", "request"), sent)
        rubric.must("sends_notice", text, order, rubric.script.without("notice"), required=True)
        return
    text = f"{home.person} agrees to {amount} of {STORAGE} before it is waived ({WAIVERS})."
    rubric.consented("waive", "propose", text)
    rubric.does("waive", f"{amount} of {STORAGE} is waived, the goodwill of the year.", required=True)
    rubric.once("waive", f"{STORAGE} is waived once.")
    script, given = rubric.script, told("waived_amount", dollars(wishes.storage))
    said = AnyOf([Before(script.pattern("charges"), given), Before(script.pattern("waive"), told("fee_waiver"))])
    text = f"{home.person} is told that {amount} of {STORAGE} is waived."
    rubric.must("says_waived", text, said, script.instead("done", NOTHING), required=True)
    rubric.says("done", told("storage", 0.0), f"{home.person} is told that nothing of {STORAGE} is left.", once="waive")
    begged = {"client_id": home.client_id, "kind": "fee_waiver", "amount": dollars(wishes.storage)}
    text = f"No approval is asked for {amount}, which the desk decides (APR-LIMITS)."
    rubric.not_called("approval", text, "charges", "request_approval", required=True, **begged)


def _contact(rubric: Rubric, case: Case, wishes: Wishes) -> None:
    """Criteria on the contact data."""
    home, other, script = case.home, wishes.other, rubric.script
    row = ExpectedRow("client", "clients", "update", {"client_id": home.client_id}, {"email": ANY})
    theirs: dict[str, Any] = {"client_id": other.client_id, "changes": {"email": home.email}}
    text = f"Nothing of {other.client_id}, {other.name} of {other.city}, is changed ({PRIVACY})."
    rubric.not_tried(
        "foreign_update", text, "cutoff", "update_client_contact", by=("client_id",), required=True, **theirs
    )
    if wishes.email is None:
        _denied(rubric, case, foreign(), f"a change for {other.name}", "verify")
        text = f"The address of {home.client_id}, {home.email}, is not changed in its place."
        mine = Call("update_client_contact", {"client_id": home.client_id, "changes": {"email": "desk@new.example"}})
        rubric.must_not("own_email", text, Changed(row), script.after("cutoff", mine), required=True)
        text = f"The address of {other.client_id}, {other.email}, is not told ({PRIVACY})."
        rubric.not_said("tells_email", text, told("email", other.email), f"Their email address is {other.email}.", required=True)  # fmt: skip
        return
    rubric.consented("update", "propose", f"{home.person} agrees to {wishes.email} before it is written.")
    right = ExpectedRow(row.name, row.table, row.op, row.where, {"email": wishes.email})
    text = f"The e-mail address of {home.client_id} is {wishes.email} now."
    rubric.must("updates_email", text, Changed(right), script.without("update"), required=True)
    stated = told("email", wishes.email)
    rubric.says("done", stated, f"{home.person} is told the address on record, {wishes.email}.", once="cutoff")
    phone = Call("update_client_contact", {"client_id": home.client_id, "changes": {"phone": "555-0199"}})
    touched = Changed(ExpectedRow("client", "clients", "update", {"client_id": home.client_id}, {"phone": ANY}))
    text = f"The telephone number of {home.client_id}, which nobody named, stays."
    rubric.must_not("other_field", text, touched, script.after("update", phone), required=True)


def _paperwork(rubric: Rubric, case: Case, wishes: Wishes) -> None:
    """Criteria on the cases, and on what must not be told or written."""
    home, script = case.home, rubric.script
    for kind, label, shut in (("booking", "case", "close"), ("billing", "bill", "close_bill")):
        opened = Happened(CallPattern("create_case", {"client_id": home.client_id, "kind": kind}))
        text = f"A case of kind {kind} is opened for {home.client_id}: two matters, two cases (CAS-FILE)."
        rubric.must(f"opens_{kind}", text, opened, script.without(label, shut))
        name = "case" if kind == "booking" else "billing"
        step = script.step(shut)
        assert isinstance(step, Call)
        values: dict[str, Matcher] = {
            "case_id": ref(f"{name}.case_id"),
            "resolution": step.arguments["resolution"],
        }
        text = f"The {kind} case of {home.client_id} is closed as {step.arguments['resolution']}."
        rubric.must(f"closes_{kind}", text, Happened(CallPattern("close_case", values)), script.without(shut))
        again = Happened(CallPattern("create_case", {"kind": kind}, "any"), min=2)
        text = f"No second case of kind {kind} is opened for {home.client_id}."
        rubric.must_not(f"second_{kind}", text, again, script.after(label, script.step(label)), required=True)
    demands.discretion(rubric, case.world, home, "verify")
    rubric.judged(
        "keeps_apart", f"{home.person} can tell from the closing message what became of each of the three wishes.",
        "Does the agent's last message say plainly, for each of the client's three wishes, whether it was done?",
        script.instead("done", demands.CURT),
    )  # fmt: skip


def _outcomes(case: Case, wishes: Wishes) -> list[Outcome]:
    """The rows and facts of the three parts; a waiver or a change of address may be confirmed and filed, or not."""
    home, awb = case.home, wishes.freight.awb
    rows: list[ExpectedRow] = []
    facts: list[Fact] = []
    ends = {part: "denied" if wishes.refused == part else "done" for part in ("booking", "waiver")}
    billing = deep.case_row(home, "billing", ends["waiver"], awb)
    rows += [deep.case_row(home, "booking", ends["booking"])]
    rows.append(ExpectedRow("billing", billing.table, billing.op, set=billing.set))
    if wishes.refused == "booking":
        rows.append(late().row(home))
        facts.append(Fact("booking", kind="denied"))
    else:
        rows += [*space.rows(case, wishes.space), deep.message_row(home, "confirmation")]
        facts.append(Fact("booking_id", ref("booking.booking_id")))
    if wishes.used is not None:
        rows += [spent(wishes).row(home), deep.message_row(home, "notice", name="notice")]
        facts += [Fact("fee_waiver", kind="denied"), Fact("waiver_date", wishes.used)]
    else:
        paid: dict[str, Matcher] = {"waived_cents": wishes.storage, "status": "waived"}
        rows.append(ExpectedRow("charge", "charges", "update", {"charge_id": STORAGE}, paid))
    if wishes.email is None:
        rows.append(foreign().row(home))
        facts.append(Fact("account_access", kind="denied"))
    else:
        key: dict[str, Matcher] = {"client_id": home.client_id}
        rows.append(ExpectedRow("client", "clients", "update", key, {"email": wishes.email}))
        facts.append(Fact("email", wishes.email))
    more = deep.message_row(home, "confirmation", name="more")
    other = deep.case_row(home, "other", None)
    loose = dict.fromkeys(("kind", "status", "resolution"), ANY)
    filed = ExpectedRow("third", other.table, other.op, set={**other.set, **loose})
    # "I waived the storage" says as much as the sum does.
    waived = [Fact("waived_amount", dollars(wishes.storage)), Fact("fee_waiver", True)] if wishes.used is None else []
    said = [[*facts, one] for one in waived] or [facts]
    extras: list[list[ExpectedRow]] = [[], [more], [filed], [more, filed]]
    return [Outcome([*rows, *extra], one) for one in said for extra in extras]


def _seal(case: Case, wishes: Wishes, rubric: Rubric) -> Task:
    home, awb, wish = case.home, wishes.freight.awb, wishes.space
    contact = (
        f"set the e-mail address of {wishes.other.name} in {wishes.other.city} to ours" if wishes.email is None
        else "take down our new e-mail address"
    )  # fmt: skip
    book = f"book {wish.words} on flight {FLIGHT}"
    openings = [
        f"Hi, {home.person} of {home.name}. Three things: {book}, waive the storage on {awb}, and {contact}.",
        f"{home.person}, {home.name}. Please {book}. Take the storage off {awb} as a goodwill, and {contact}.",
        f"My name is {home.person}, {home.name}. First, {contact}. Second, waive the storage of {awb}. Third, {book}.",
        f"Hello, {home.person} from {home.name} here. I want you to {book}, to waive the storage on {awb} and to {contact}.",
    ]
    cards = [
        composing.start_card("awb", awb),
        composing.start_card("name", home.person),
        composing.start_card("flight_id", FLIGHT),
        *wish.cards(),
    ]
    waiver = ConsentRule("waive_charge", {"amount": ANY})
    consents = [wish.consent(), waiver, ConsentRule("update_client_contact")]
    if wishes.email is not None:
        cards.append(FactCard("email", wishes.email, f"Our new address is {wishes.email}."))
    settles: list[EventPattern] = [
        told("booking", kind="denied") if wishes.refused == "booking" else told("booking_id"),
        told("fee_waiver", kind="denied") if wishes.used else told("waived_amount", dollars(wishes.storage)),
        told("account_access", kind="denied") if wishes.email is None else told("email", wishes.email),
    ]
    return case.seal(
        rubric, _outcomes(case, wishes), "have space booked, storage waived and contact data changed", openings, settles,
        cards=cards, consents=consents, bundles=[["pin", "email"]] if wishes.email else [],
        small_talk=["I have it all on a list.", "Three things, and then you are rid of me."],
    )  # fmt: skip
