"""The businesses, one folder each, and how a name becomes a world."""

from __future__ import annotations

import importlib

from journeyman.errors import WorldError
from journeyman.world import World

WORLDS: dict[str, str] = {
    "telecom": "journeyman.worlds.telecom:WORLD",
    "airline_cargo": "journeyman.worlds.airline_cargo:WORLD",
}
"""Every world that has a short name, and where it lives."""


def load_world(name: str) -> World:
    """The world of a short name (`telecom`) or of a path (`package.module:WORLD`).

    Raises:
        WorldError: an unknown name, a module that cannot be imported, or an attribute that is no World.
    """
    path = WORLDS.get(name, name)
    module_name, colon, attribute = path.partition(":")
    if not colon:
        raise WorldError("world", name, f"unknown; known: {', '.join(WORLDS)}, or give package.module:WORLD.")
    try:
        module = importlib.import_module(module_name)
    except WorldError:
        raise
    except Exception as error:
        # A module is a stranger's program: whatever it raises while it loads, the person needs its name.
        raise WorldError(
            "world", name, f"{module_name} cannot be imported ({type(error).__name__}: {error}): install or correct it."
        ) from error
    world = getattr(module, attribute, None)
    if not isinstance(world, World):
        raise WorldError("world", name, f"{module_name} has no World called {attribute!r}.")
    return world
