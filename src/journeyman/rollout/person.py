"""A person as the policy: reads the user's messages, calls the world's tools, answers, and is graded like any agent.

    play_in_terminal(load_world("telecom"), None, 0, Path("mine.jsonl"))

What a person can do is what a model can do, in the same loop. Input comes through `Reader`, output goes through
`Writer`, so that a test can sit where the terminal is.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from journeyman.codec import encode, seed_of
from journeyman.engine.base import Sampler
from journeyman.episode import Episode, Message, Seeds, Segment, Turn, Usage
from journeyman.errors import TaskFileError
from journeyman.recipe import Limits
from journeyman.rollout.loop import EpisodeSpec, PlaySettings, play
from journeyman.rollout.person_commands import HELP, Command, NotUnderstood, read_command
from journeyman.rollout.person_view import show_message, show_tool, show_tools, show_verdict
from journeyman.rollout.policy import EpisodeContext, OutOfTokens

if TYPE_CHECKING:
    from journeyman.task import Task
    from journeyman.world import World

Reader = Callable[[str], str]
"""Prompt -> one line without its end. Raises EOFError at the end of input, KeyboardInterrupt on Ctrl-C."""
Writer = Callable[[str], None]

PERSON_LIMITS = Limits(turns=400, calls=400, tokens=100_000, wall_seconds=864_000.0, repeats=3)
"""Wide enough that only the task and the person decide how it ends."""
PROMPT = "you> "


@dataclass(frozen=True)
class PersonPolicy:
    """Asks a person for every turn; see `Policy`."""

    reader: Reader
    writer: Writer
    name: str = "person"
    privileged: bool = field(default=False, init=False)
    sampler: Sampler | None = field(default=None, init=False)

    def begin(self, context: EpisodeContext) -> PersonActor:
        """A fresh actor."""
        return PersonActor(self.reader, self.writer, context)


class PersonActor:
    """One person in one episode."""

    def __init__(self, reader: Reader, writer: Writer, context: EpisodeContext) -> None:
        self._reader = reader
        self._writer = writer
        self._context = context

    async def act(self, new_messages: Sequence[Message]) -> Turn:
        """The next turn; raises OutOfTokens where the person leaves before the task has ended."""
        for message in new_messages:
            self._writer(show_message(message, self._context.world.company))
        while True:
            command = self._command()
            if command.turn is not None:
                return command.turn
            if command.leave:
                raise OutOfTokens("the person left")
            self._answer(command)

    def segments(self) -> list[Segment]:
        return []

    def usage(self) -> Usage:
        return Usage()

    def _command(self) -> Command:
        """The next command that can be understood."""
        interrupted = False
        while True:
            try:
                return read_command(self._line(), self._context.tools)
            except NotUnderstood as reason:
                self._writer(str(reason))
            except EOFError:
                return Command(leave=True)
            except KeyboardInterrupt:
                if interrupted:
                    return Command(leave=True)
                interrupted = True
                self._writer("\nPress Ctrl-C again, or type /quit, to end the task as it stands.")

    def _line(self) -> str:
        """A line; one that ends with a backslash goes on in the next."""
        line = self._reader(PROMPT)
        while line.endswith("\\"):
            line = f"{line[:-1]}\n{self._reader('...> ')}"
        return line

    def _answer(self, command: Command) -> None:
        if command.show_tool is not None:
            self._writer(show_tool(command.show_tool))
        elif command.search is not None:
            self._writer(show_tools(self._context.tools, command.search))
        else:
            self._writer(HELP)


def chosen_task(world: World, task_id: str | None, seed: int) -> Task:
    """The task with this id, or a starter that `seed` picks.

    Raises:
        TaskFileError: the world has no such task, or none at all.
    """
    if task_id is not None:
        return world.task(task_id)
    tasks = world.tasks()
    if not tasks:
        raise TaskFileError(f"world {world.name}", "tasks", "it has none: nothing can be played.")
    easiest = min(task.level for task in tasks)
    starters = [task for task in tasks if task.level == easiest]
    return starters[seed % len(starters)]


def play_person(world: World, task: Task, seed: int, reader: Reader, writer: Writer) -> Episode:
    """Let a person play a task to its end and show the verdict."""
    seeds = Seeds(world=seed_of("play", task.id), user=seed_of("play", task.id, seed), episode=seed)
    spec = EpisodeSpec(id=f"play/0/{task.id.replace('/', '.')}/{seed}", task=task, seeds=seeds)
    writer(f"Task {task.id}, level {task.level}. You are the agent. {HELP}")
    loop = asyncio.new_event_loop()
    try:
        # Not `asyncio.run`: it would take Ctrl-C for itself, and a person at the prompt would not be heard.
        episode = loop.run_until_complete(
            play(spec, world, PersonPolicy(reader, writer), PlaySettings(limits=PERSON_LIMITS))
        )
    finally:
        loop.close()
    if episode.ended != "limit":  # then the last word is not the person's and was not shown yet
        for message in episode.messages[-1:]:
            if message.role in ("user", "tool"):
                writer(show_message(message, world.company))
    writer(show_verdict(task, episode))
    return episode


def play_in_terminal(
    world: World,
    task_id: str | None,
    seed: int,
    output: Path | None,
    reader: Reader | None = None,
    writer: Writer | None = None,
) -> Episode:
    """The whole of `journeyman play`.

    Args:
        output: JSONL file to which the episode is appended.
        reader: the terminal if None. writer: likewise.

    Raises:
        TaskFileError: see `chosen_task`. OSError: the file cannot be written; nothing has been played then.
    """
    task = chosen_task(world, task_id, seed)
    if output is not None:
        with output.open("ab"):
            pass
    episode = play_person(world, task, seed, reader or _terminal_reader(), writer or _print)
    if output is not None:
        with output.open("ab") as file:
            file.write(encode(episode) + b"\n")
        (writer or _print)(f"saved to {output}")
    return episode


def _terminal_reader() -> Reader:
    if sys.stdin.isatty():
        import contextlib

        with contextlib.suppress(ImportError):  # where it exists, lines can be edited and called back
            import readline  # noqa: F401
    return input


def _print(text: str) -> None:
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode() + "\n")
    sys.stdout.flush()
