"""Where a run's numbers come from: versions, hashes, seeds, machine. Written once, compared at every resume."""

from __future__ import annotations

import platform
import sys

from journeyman import __version__
from journeyman.task import Data


class Actor(Data, frozen=True):
    """A model or program that acted in the run. `sent`: what left this machine for it ("" for nothing)."""

    role: str
    name: str
    version: str
    licence: str = ""
    endpoint: str = ""
    sent: str = ""


class Provenance(Data, frozen=True):
    """`provenance.json`. `recipe_hash` covers recipe.toml as written; `dtype` and `device` are the engine's."""

    recipe_hash: str
    world: str
    world_version: str
    actors: list[Actor]
    seed: int
    dtype: str
    device: str
    package: str = __version__
    python: str = ""
    torch: str = ""
    platform: str = ""


def describe_machine() -> dict[str, str]:
    """Python, platform and (where it is loaded already) torch version."""
    torch = sys.modules.get("torch")
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "torch": str(getattr(torch, "__version__", "")),
    }
