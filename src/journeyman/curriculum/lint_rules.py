"""The rules of lint: each takes a bench and yields what is wrong with its task.

Each rule is a function `Bench -> Iterator[Flaw]` and is listed in `RULES` under the name that findings carry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from journeyman.curriculum.lint_bench import Bench, spliced
from journeyman.curriculum.lint_order import reorderings, same_effect, same_records
from journeyman.curriculum.lint_own import OWN_SHARE, names_own, own_names, same_predicate
from journeyman.episode import Episode, Verdict
from journeyman.grading.grade import reader_of
from journeyman.rollout.attacks import ATTACKS
from journeyman.rollout.scenario_check import scenario_problems
from journeyman.rollout.scripted import SCRIPTED
from journeyman.task import Call, Criterion, Data, FactCard, Step, Task, task_hash
from journeyman.world import World


class Flaw(Data, frozen=True):
    """What a rule found, and what to do about it."""

    detail: str
    remedy: str


Rule = Callable[[Bench], Iterator[Flaw]]

PROBES = ("idle", "refuse", "writes_only", "shotgun")
"""Policies that, with the oracle, show whether a criterion tells anybody apart."""


def form(bench: Bench) -> Iterator[Flaw]:
    """The task is well formed: sealed, unique criteria, start facts spoken in every opening."""
    task = bench.task
    if task.hash != task_hash(task):
        yield Flaw("the hash does not match the content", "Seal the task after its last change.")
    seen_ids: set[str] = set()
    seen_predicates: dict[bytes, str] = {}
    for criterion in task.criteria:
        if criterion.id in seen_ids:
            yield Flaw(f"two criteria have the id {criterion.id!r}", "Give each criterion its own id.")
        seen_ids.add(criterion.id)
        if (criterion.predicate is None) == (criterion.judge is None):
            yield Flaw(f"criterion {criterion.id} needs a predicate or a judge, and only one", "Keep exactly one.")
        if criterion.predicate is None and criterion.required:
            yield Flaw(f"criterion {criterion.id} is required but left to a judge", "Give it a predicate.")
        if criterion.predicate is not None:
            key = same_predicate(criterion.predicate)
            if key in seen_predicates:
                detail = f"criteria {seen_predicates[key]} and {criterion.id} check the same thing"
                yield Flaw(detail, "Drop one of them, or give each its own arguments.")
            seen_predicates[key] = criterion.id
    yield from _unspoken(bench.world, task)
    for tool in _tools_needed(task):
        if task.tools is not None and tool not in task.tools:
            yield Flaw(f"the oracle calls {tool}, which the task does not offer", "Add it to the task's tools.")


def scenario(bench: Bench) -> Iterator[Flaw]:
    """The simulated user can play the scenario as it is written."""
    task = bench.task
    if task.scenario is not None:
        for problem in scenario_problems(task.scenario, bench.world.lexicon, reader_of(bench.world), task.oracle):
            yield Flaw(f"the scenario cannot be played as written: {problem}", "Say only what a card of it declares.")


def oracle(bench: Bench) -> Iterator[Flaw]:
    """The reference solution passes with the full reward."""
    episode = bench.oracle
    if episode.reward != 1.0 or not _passed(episode):
        yield Flaw(f"the oracle earns {episode.reward:.3f}: {_why(episode)}", "Repair the oracle or the outcome.")


def idle(bench: Bench) -> Iterator[Flaw]:
    """Doing nothing, refusing at once and transferring at once fail and earn nothing."""
    for policy in ("idle", "refuse", "transfer"):
        episode = bench.probe(SCRIPTED[policy])
        yield from _ungraded(episode, policy)
        if _passed(episode) or episode.reward > 0.0:
            detail = f"the {policy} policy earns {episode.reward:.3f}{_met_musts(episode, bench.task)}"
            yield Flaw(detail, "Demand work in the outcome, and an earlier look-up in each must that talk alone meets.")


def shotgun(bench: Bench) -> Iterator[Flaw]:
    """Every plausible write and every value recited fails; so do the right tools with whatever was read."""
    for policy in (SCRIPTED["shotgun"], ATTACKS["gentle_shotgun"].policy):
        episode = bench.probe(policy)
        yield from _ungraded(episode, policy.name)
        # With the right tools only, the right work may be done by luck: then it is no fault to pay for it.
        if _passed(episode) and not (policy.privileged and same_records(bench, episode)):
            yield Flaw(
                f"the {policy.name} policy passes", "Expect rows and facts that a blind run cannot all get right."
            )


def reads(bench: Bench) -> Iterator[Flaw]:
    """The oracle without its reads loses a required criterion, whatever becomes of the outcome."""
    episode = bench.probe(SCRIPTED["writes_only"])
    yield from _ungraded(episode, "writes_only")
    if episode.verdict is not None and episode.verdict.required_met:
        detail = "writes alone meet every required criterion"
        yield Flaw(detail, "Require a look-up before the write (or before the refusal).")


def steps(bench: Bench) -> Iterator[Flaw]:
    """Each oracle step matters: without it some part of the verdict is another."""
    whole = _signature(bench.oracle)
    for at, step in enumerate(bench.task.oracle):
        rest = bench.task.oracle[:at] + bench.task.oracle[at + 1 :]
        if _signature(bench.play_steps(rest)) == whole:
            detail = f"without step {at} ({_label(step)}) the verdict is the same"
            yield Flaw(detail, "Add a criterion that asks for the step, or drop the step.")


def order(bench: Bench) -> Iterator[Flaw]:
    """Writes that do not depend on each other pass in any order that no criterion forbids."""
    for steps, names in reorderings(bench):
        turned = bench.play_steps(steps)
        if same_effect(bench.world, bench.oracle, turned) and turned.reward != 1.0:
            detail = f"the writes in the order {names} earn {turned.reward:.3f}: {_why(turned)}"
            yield Flaw(detail, "Match by content and `ref`, not by generated ids or by order.")
            return


def criteria(bench: Bench) -> Iterator[Flaw]:
    """Each criterion is met by the oracle and violated by its witness."""
    for criterion in bench.task.criteria:
        if not criterion.witness:
            yield Flaw(f"criterion {criterion.id} has no witness", "Add splices that violate it.")
            continue
        try:
            variant = spliced(bench.task.oracle, criterion.witness)
        except ValueError as error:
            yield Flaw(f"criterion {criterion.id}: {error}", "Repair the splices of the witness.")
            continue
        if criterion.predicate is None:
            continue
        if _met(bench.oracle, criterion) is not True:
            yield Flaw(f"the oracle does not meet criterion {criterion.id}", "Repair the oracle or the predicate.")
        if _met(bench.play_steps(variant), criterion) is not False:
            detail = f"the witness of criterion {criterion.id} does not violate it"
            yield Flaw(detail, "Repair the witness, or the predicate that cannot fail.")


def own(bench: Bench) -> Iterator[Flaw]:
    """From level 2 on, most criteria name the task's own records or a policy article."""
    task = bench.task
    if task.level < 2 or not task.criteria:
        return
    names = own_names(bench.world, task)
    strangers = [criterion.id for criterion in task.criteria if not names_own(criterion, names)]
    share = 1 - len(strangers) / len(task.criteria)
    if share < OWN_SHARE:
        detail = (
            f"{share:.0%} of the criteria name the task's own records or policy; these do not: {', '.join(strangers)}"
        )
        yield Flaw(detail, f"Name record, amount or article in text or arguments, in {OWN_SHARE:.0%} or more.")


def constant(bench: Bench) -> Iterator[Flaw]:
    """No must has the same verdict whoever acts. (A must-not speaks of one mistake: those that no probe makes are listed
    in the report, and that each can be broken is what its witness shows.)"""
    musts = {criterion.id for criterion in bench.task.criteria if criterion.polarity == "must"}
    for name in sorted(musts.intersection(constant_criteria(bench))):
        yield Flaw(
            f"criterion {name} has one verdict for every policy", "Demand what an idle or blind policy does not do."
        )


def constant_criteria(bench: Bench) -> list[str]:
    """Ids of the criteria on which the oracle, the probes and whoever else was probed got one and the same verdict."""
    for name in PROBES:
        bench.probe(SCRIPTED[name])
    verdicts = [episode.verdict for episode in bench.probes if episode.verdict is not None]
    return [
        criterion.id
        for at, criterion in enumerate(bench.task.criteria)
        if criterion.predicate is not None and len({verdict.criteria[at].met for verdict in verdicts}) == 1
    ]


def determinism(bench: Bench) -> Iterator[Flaw]:
    """The same seeds give the same episode, digest by digest."""
    if bench.play_fresh(SCRIPTED["oracle"]).digest != bench.oracle.digest:
        yield Flaw("two plays of the oracle differ", "Use ctx.now, ctx.rng and ctx.next_id only in tools.")


RULES: Mapping[str, Rule] = {
    "form": form,
    "scenario": scenario,
    "oracle": oracle,
    "idle": idle,
    "shotgun": shotgun,
    "reads": reads,
    "steps": steps,
    "order": order,
    "criteria": criteria,
    "own": own,
    "constant": constant,
    "determinism": determinism,
}


def _ungraded(episode: Episode, policy: str) -> Iterator[Flaw]:
    """A play that broke down shows nothing about the task: it must not count as one that failed."""
    if episode.verdict is None:
        detail = f"the {policy} policy was not graded: failure {episode.failure} ({episode.failure_detail})"
        yield Flaw(detail, "Repair the task or its world so that the policy can be played.")


def _passed(episode: Episode) -> bool:
    return episode.verdict is not None and episode.verdict.passed


def _met(episode: Episode, criterion: Criterion) -> bool | None:
    if episode.verdict is None:
        return None
    return next((result.met for result in episode.verdict.criteria if result.id == criterion.id), None)


def _met_musts(episode: Episode, task: Task) -> str:
    if episode.verdict is None:
        return ""
    musts = {criterion.id for criterion in task.criteria if criterion.polarity == "must"}
    met = [result.id for result in episode.verdict.criteria if result.met and result.id in musts]
    return f" and meets {', '.join(met)}" if met else ""


def _why(episode: Episode) -> str:
    verdict = episode.verdict
    if verdict is None:
        return f"failure {episode.failure} ({episode.failure_detail})"
    rows = [f"row {row.ref} {row.status} {row.detail}".rstrip() for row in verdict.rows if row.status != "matched"]
    facts = [f"fact {fact.slot} not told {fact.detail}".rstrip() for fact in verdict.facts if not fact.met]
    unmet = [f"criterion {result.id} unmet" for result in verdict.criteria if result.met is False]
    calls = [f"{call.tool} failed: {call.result}" for call in episode.calls if call.status == "error"]
    ended = [] if verdict.ended else [f"ended by {episode.ended} {episode.failure_detail}".rstrip()]
    return "; ".join(rows + facts + unmet + calls + ended) or "no part of the verdict says why"


def _signature(episode: Episode) -> object:
    verdict: Verdict | None = episode.verdict
    if verdict is None:
        return episode.failure
    return (
        verdict.passed,
        sorted((row.ref, row.status) for row in verdict.rows),
        [(fact.slot, fact.met) for fact in verdict.facts],
        [(result.id, result.met) for result in verdict.criteria],
    )


def _label(step: Step) -> str:
    return step.tool if isinstance(step, Call) else f"say {step.text[:40]!r}"


def _tools_needed(task: Task) -> list[str]:
    return sorted({step.tool for step in task.oracle if isinstance(step, Call)})


def _unspoken(world: World, task: Task) -> Iterator[Flaw]:
    if task.scenario is None:
        return
    texts = [task.request, *task.scenario.openings]
    for card in task.scenario.facts:
        if card.reveal != "start":
            continue
        for text in texts:
            if not any(form.lower() in text.lower() for form in _spoken_forms(world, card)):
                detail = f"{text[:50]!r} does not say the start fact {card.slot}"
                yield Flaw(detail, "Say it in every opening, or reveal it when asked.")


def _spoken_forms(world: World, card: FactCard) -> list[str]:
    value = card.value
    forms = [card.text, str(value)]
    if isinstance(value, float | int) and not isinstance(value, bool):
        forms += [f"{value:.2f}", f"{value:,.2f}", f"{value:g}"]
    for slot in world.lexicon.slots:
        if slot.name == card.slot:
            forms += slot.values.get(str(value), [])
    return [spoken for spoken in forms if spoken]
