"""Calibrating a judge: what a program decided in a run is put to the judge as if only a judge could decide it.

result = calibrate_judge(RunFolder(path), recipe, limit=100)
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from journeyman.episode import Episode, Usage
from journeyman.errors import EndpointError, RecipeError
from journeyman.evaluate.calibration import Calibration, Compared, calibrate
from journeyman.evaluate.metrics import latest_attempts
from journeyman.grading.judge import Judge, Judgement
from journeyman.grading.judge_text import Question
from journeyman.parts import open_clients
from journeyman.recipe import Evaluate, Recipe
from journeyman.task import Data, Task
from journeyman.train.rulings import RulingFile
from journeyman.train.runfolder import RunFolder
from journeyman.worlds import load_world


class CalibrationResult(Data, frozen=True):
    """What `journeyman calibrate` prints. `usage` is what was spent now: kept rulings cost nothing again. `void` counts
    the decisions that do not count, by reason."""

    judge: str
    episodes: int
    kinds: list[Calibration]
    usage: Usage
    void: dict[str, int] = {}


def calibrate_judge(
    run: RunFolder,
    recipe: Recipe,
    limit: int | None = None,
    advance: Callable[[int], None] | None = None,
) -> CalibrationResult:
    """Judge the machine-decided criteria of a run's evaluation episodes, and compare.

    Args:
        run: its rulings are kept in its judge.jsonl, so that an interrupted calibration goes on.
        recipe: names the judge and its endpoint; the run's own, or another one.
        limit: at most so many episodes, the first ones by id.
        advance: told of each episode.

    Raises:
        RecipeError: the recipe names no judge, or its key is not in the environment.
        RunFolderError: the run is damaged or being judged by another process.
        EndpointError: the judge could not be asked a single question, or its endpoint does not serve its key.
    """
    name = recipe.judge.endpoint
    if name is None:
        raise RecipeError(recipe.name, "judge.endpoint", "names no judge: give a recipe that does (--recipe).")
    client = open_clients(recipe, [name])[name]
    tasks = {task.id: task for task in load_world(run.recipe.world).tasks()}
    episodes = _episodes(run, tasks)[:limit]
    store = RulingFile(run.path)
    judge = Judge(client, client.endpoint.model, store, recipe.judge.max_tokens)

    async def all_of_them() -> list[tuple[Judgement, list[Compared]]]:
        try:
            async with asyncio.TaskGroup() as group:
                work = [group.create_task(_compare(judge, one, tasks[one.task_id], advance)) for one in episodes]
            return [task.result() for task in work]
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            await client.close()

    try:
        done = asyncio.run(all_of_them())
    finally:
        store.close()
    total = Judgement()
    for judgement, _ in done:
        total.spend(judgement.usage)
    rulings = [ruling for judgement, _ in done for ruling in judgement.rulings.values()]
    if rulings and sum(judgement.unasked for judgement, _ in done) == len(rulings):
        fault = next(judgement.fault for judgement, _ in done if judgement.fault)
        raise EndpointError(f"endpoint {name}", "", f"the judge could not be asked a single question: {fault}.")
    kinds = calibrate(compared for _, found in done for compared in found)
    void = Counter(ruling.why for ruling in rulings if ruling.met is None)
    return CalibrationResult(client.endpoint.model, len(episodes), kinds, total.usage, dict(void))


def _episodes(run: RunFolder, tasks: dict[str, Task]) -> list[Episode]:
    """Graded evaluation episodes whose task the world still has as it was, by id."""
    phases = [stage.name for stage in run.recipe.stage if isinstance(stage, Evaluate)]
    played = [one for phase in phases for one in latest_attempts(run.episodes(phase))]
    fitting = [
        one
        for one in played
        if one.verdict is not None and one.task_id in tasks and tasks[one.task_id].hash == one.task_hash
    ]
    return sorted(fitting, key=lambda one: one.id)


async def _compare(
    judge: Judge, episode: Episode, task: Task, advance: Callable[[int], None] | None
) -> tuple[Judgement, list[Compared]]:
    known = list(_decided(episode, task))
    questions: Sequence[Question] = [question for question, _, _ in known]
    judgement = await judge.decide(questions, episode.messages) if questions else Judgement()
    if advance is not None:
        advance(1)
    return judgement, [Compared(kind, met, judgement.rulings[question.id].met) for question, kind, met in known]


def _decided(episode: Episode, task: Task) -> Iterator[tuple[Question, str, bool]]:
    """(question, operator of the predicate, the program's decision) of each criterion that a program decided."""
    met = {result.id: result.met for result in episode.verdict.criteria} if episode.verdict else {}
    for criterion in task.criteria:
        decision = met.get(criterion.id)
        if criterion.predicate is not None and decision is not None:
            yield Question(criterion.id, criterion.text), str(type(criterion.predicate).__struct_config__.tag), decision
