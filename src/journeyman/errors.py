"""Every error a person can meet, each with where it is, which key, and what to do about it.

`ToolError` is the odd one out: it belongs to the agent, which reads it as a tool result and may recover.
"""

from __future__ import annotations


class JourneymanError(Exception):
    """An error for the person who runs Journeyman.

    Args:
        where: the file, endpoint, folder or object in which the fault lies.
        key: the key, line or field inside it ("" where there is none).
        remedy: what is wrong and what to do next, one or two sentences.
    """

    exit_code = 2

    def __init__(self, where: str, key: str, remedy: str) -> None:
        super().__init__(where, key, remedy)
        self.where = where
        self.key = key
        self.remedy = remedy

    def __str__(self) -> str:
        place = f"{self.where}: {self.key}" if self.key else self.where
        return f"{place}: {self.remedy}"


class RecipeError(JourneymanError):
    """A recipe that cannot be run as written."""


class TaskFileError(JourneymanError):
    """A task that is malformed, altered, or unknown to its world."""


class WorldError(JourneymanError):
    """A world, tool or family that breaks the rules of the kit."""


class RunFolderError(JourneymanError):
    """A run folder that is missing, damaged or belongs to another recipe."""


class EngineError(JourneymanError):
    """A model, adapter or device that cannot be used as asked."""

    exit_code = 3


class EndpointError(JourneymanError):
    """A remote endpoint that does not answer as its protocol says."""

    exit_code = 3


class ToolError(Exception):
    """An error the agent sees as the result of its call.

    Args:
        code: short, stable, snake_case (`not_found`, `invalid_argument`, `declined`, …).
        message: one sentence that names the argument or record at fault.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
