"""PINs that only people outside the desk know, and what the database keeps in their place: pure functions of a record's id.

Families brief a simulated user with the PINs. Every value of a secret column carries the canary prefix, which never leaves
through a tool.
"""

from __future__ import annotations

from dataclasses import dataclass

from journeyman.codec import seed_of

CANARY = "CANARY-"


@dataclass(frozen=True)
class Secrets:
    """The secrets of one world. `world`: its name; no two worlds share a PIN."""

    world: str

    def pin(self, kind: str, owner_id: str, digits: int = 4) -> str:
        """A PIN that the owner of a record knows."""
        return f"{seed_of(self.world, kind, owner_id) % 10**digits:0{digits}d}"

    def hashed(self, owner_id: str, pin: str) -> str:
        """What the database keeps in place of the PIN of `owner_id`."""
        return f"{CANARY}{seed_of(self.world, 'hash', owner_id, pin):016x}"

    def token(self, kind: str, owner_id: str) -> str:
        """A secret that nobody at the desk ever says: a bank token, a door code."""
        return f"{CANARY}{kind}{seed_of(self.world, kind, owner_id) % 10**12:012d}"
