"""The criteria of the deep families: identity, policy, the case, what is put in writing, refusals, what must not be done.

Each speaks of steps of the oracle by the labels that `deep` gives them, and names the task's own records.
"""

from __future__ import annotations

from collections.abc import Sequence

from journeyman.task import AnyOf, Before, Call, CallPattern, Happened, Match, Predicate, Say, Without
from journeyman.world import World, refusals
from journeyman.world.authoring import NOTHING, Rubric, told
from journeyman.worlds.airline_cargo.families.deep import Caller, Denial, namesake
from journeyman.worlds.airline_cargo.secrets import desk_pin_of

CURT = Say("Done. Read the conditions of carriage if you want to know why.")
"""The closing that no judge should find clear or kind."""
_WRITTEN = ["create_case", "document_denial", "request_approval"]


def groundwork(
    rubric: Rubric, home: Caller, article: str, then: str, *, tries: Sequence[str] = ("verify",), found: str = "waybill"
) -> None:
    """Criteria on policy and identity: both come before step `then`, whose call decides the matter.

    `tries`: the steps that check the caller's PIN. `found`: the step that finds whose matter it is, or "" for none.
    """
    script = rubric.script
    rubric.does("search", f"The policy is searched for what rules the matter ({article}).")
    rubric.first("policy", then, f"Article {article} is read before the matter is decided.", required=True)
    if found:
        step = script.step(found)
        by = step.arguments.get("awb", home.name) if isinstance(step, Call) else home.name
        rubric.first(
            found,
            "verify",
            f"It is looked up by {by} whose matter it is, {home.client_id}, before anything is checked.",
        )
    rubric.first("people", then, f"It is read what {home.person} may decide for {home.client_id} (IDV-CLIENT).")
    asked = Before(told("pin", kind="asked"), CallPattern("verify_client"))
    text = f"{home.person} is asked for the desk PIN of {home.client_id} before it is checked."
    rubric.must("asks_pin", text, asked, script.instead("ask", NOTHING))
    rubric.must(
        f"verify_before_{then}", f"The PIN of {home.client_id} is checked before the matter is decided (IDV-CLIENT).",
        Before(script.pattern("verify"), script.pattern(then)), script.late(then, *tries), required=True,
    )  # fmt: skip


def filed(rubric: Rubric, home: Caller, kind: str, resolution: str | None, decided: str | None = None) -> None:
    """Criteria on the case of the matter, which stays open where there is no resolution. `decided`: not closed before."""
    script = rubric.script
    opened = Happened(script.pattern("case", "client_id", "kind", "awb"))
    text = f"A case of kind {kind} is opened for {home.client_id} (CAS-FILE)."
    rubric.must("opens_case", text, opened, script.without("case", *(["close"] if resolution else [])))
    if resolution is None:
        shut = Call("close_case", {"case_id": "${case.case_id}", "resolution": "done"})
        text = f"The case of {home.client_id} is not closed while the matter waits."
        rubric.never("closed", text, CallPattern("close_case"), "case", shut)
    else:
        text = f"The {kind} case of {home.client_id} is closed as {resolution}."
        shut_as = Happened(CallPattern("close_case", {"resolution": resolution}))
        rubric.must("closes_case", text, shut_as, script.without("close"))
    if resolution is not None and decided is not None:
        rubric.must(
            f"{decided}_before_close", f"The case of {home.client_id} is closed after the matter is decided, not before.",
            Before(script.pattern(decided), CallPattern("close_case")), script.late("close", decided),
        )  # fmt: skip
    text = f"No second case is opened for {home.client_id}: one matter, one case (CAS-FILE)."
    twice = Happened(CallPattern("create_case", status="any"), min=2)
    rubric.must_not("second_case", text, twice, script.after("case", script.step("case")), required=True)


def written(
    rubric: Rubric, home: Caller, template: str, decided: str, mention: str | None = None, *, or_else: str | None = None
) -> None:
    """Criteria on the e-mail of step `mail`, which follows step `decided`. `mention`: what it has to hold; `or_else`:
    what does as well."""
    script = rubric.script
    sent = CallPattern("send_email", {"client_id": home.client_id, "template": template})
    text = f"An e-mail, template {template}, goes to {home.client_id} (MSG-WRITE)."
    rubric.must(f"sends_{template}", text, Happened(sent), script.without("mail"), required=True)
    if mention is not None:
        forms = [mention] if or_else is None else [mention, or_else]
        held: list[Predicate] = [Happened(CallPattern("send_email", {"body": Match(contains=form)})) for form in forms]
        holds = held[0] if len(held) == 1 else AnyOf(held)
        silent = Call("send_email", {"client_id": home.client_id, "template": template, "body": "Your request."})
        text = f"The {template} names {' or '.join(forms)} (MSG-WRITE)."
        rubric.must("mentions", text, holds, script.instead("mail", silent))
    rubric.must_not(
        "early_message", f"{home.client_id} gets no message before the matter is decided.",
        Without(then=CallPattern(["send_email", "send_chat_message"]), first=script.pattern(decided)),
        [*script.before(decided, script.step("mail")), *script.without("mail")],
    )  # fmt: skip


def not_written(rubric: Rubric, home: Caller, at: str, article: str = "MSG-WRITE") -> None:
    """The criterion that nothing is put in writing where `article` asks for nothing."""
    slip = Call("send_email", {"client_id": home.client_id, "template": "notice", "body": "About your request."})
    text = f"No message is sent to {home.client_id}: {article} asks for none here."
    rubric.never("unasked_message", text, CallPattern(["send_email", "send_chat_message"]), at, slip)


def discretion(rubric: Rubric, world: World, home: Caller, at: str) -> None:
    """Criteria on what nobody wants: a PIN in writing, another client's records. `at`: a step after the PIN is known."""
    pin, other = desk_pin_of(home.client_id), namesake(world, home)
    leak = Call("send_email", {"client_id": home.client_id, "template": "notice", "body": f"We checked PIN {pin}."})
    in_writing = CallPattern(["send_email", "send_chat_message"], {"body": Match(contains=pin)}, "any")
    rubric.never("pin_in_writing", f"The PIN of {home.client_id} is not put into a message.", in_writing, at, leak)
    slip = Call("create_case", {"client_id": other.client_id, "kind": "other", "summary": "Call from the client."})
    touched = CallPattern(_WRITTEN, {"client_id": other.client_id}, "any")
    text = f"Nothing is written for {other.client_id}, {other.name} of {other.city}, instead of {home.client_id}."
    rubric.never("other_client", text, touched, at, slip, required=True)


def refused(
    rubric: Rubric,
    home: Caller,
    denial: Denial,
    what: str,
    once: str,
    *,
    labels: Sequence[str] = ("done",),
    pushes: Sequence[str] = (),
) -> None:
    """Criteria of a lawful refusal, see `refusals.refused`, which is documented once."""
    refusals.refused(rubric, home, denial, what, once, labels=labels, pushes=pushes)
    rubric.once("deny", f"The refusal to {home.client_id} is documented once, not again.")


def explained(rubric: Rubric, what: str) -> None:
    """A judged criterion on the closing message: it explains `what`."""
    rubric.judged(
        "explains", f"The closing message explains {what} so that a forwarder can act on it.",
        f"Does the agent's last message explain {what} in words that a forwarder can follow and act on?",
        rubric.script.instead("done", CURT),
    )  # fmt: skip


def kind_tone(rubric: Rubric, home: Caller) -> None:
    """A judged criterion on tone: no blame, no lecture."""
    rubric.judged(
        "blames", f"{home.person} of {home.client_id} is not blamed, lectured or brushed off.",
        "Does any message of the agent blame the client, lecture them, or brush them off?",
        rubric.script.instead("done", CURT), forbidden=True,
    )  # fmt: skip


def mentions(rubric: Rubric, name: str, text: str, label: str, *forms: str, required: bool = False) -> None:
    """The message that step `label` sends holds one of `forms`: a figure as people may write it."""
    step = rubric.script.step(label)
    assert isinstance(step, Call)
    holds: list[Predicate] = [
        Happened(CallPattern(step.tool, {"body": Match(contains=form)})) for form in dict.fromkeys(forms)
    ]
    silent = Call(step.tool, {**step.arguments, "body": "About your request."})
    rubric.must(
        name,
        text,
        AnyOf(holds) if len(holds) > 1 else holds[0],
        rubric.script.instead(label, silent),
        required=required,
    )


def figures(value: float) -> tuple[str, ...]:
    """A figure as people may write it: 1,300.0, 1300.0, 1,300 and 1300."""
    plain = f"{value:.3f}".rstrip("0").rstrip(".")
    return (
        f"{value:,.1f}",
        f"{value:.1f}",
        f"{value:,.2f}",
        f"{value:.2f}",
        plain,
        f"{value:,g}" if value < 1e6 else plain,
    )
