"""PINs that only a client or a consignee knows: pure functions of the record's id, and the hashes kept in the database.

Families use them to brief a simulated user. Every secret column carries a canary prefix that must never leave a tool.
"""

from __future__ import annotations

from journeyman.codec import seed_of

CANARY = "CANARY-"


def desk_pin_of(client_id: str) -> str:
    """The four-digit PIN by which people of a client identify themselves to the desk."""
    return f"{seed_of('airline_cargo', 'desk pin', client_id) % 10_000:04d}"


def release_pin_of(awb: str) -> str:
    """The six-digit PIN against which a shipment is handed to its consignee."""
    return f"{seed_of('airline_cargo', 'release pin', awb) % 1_000_000:06d}"


def hashed(owner_id: str, pin: str) -> str:
    """What the database keeps in place of the PIN of `owner_id`."""
    return f"{CANARY}{seed_of('airline_cargo', 'hash', owner_id, pin):016x}"


def token_of(kind: str, owner_id: str) -> str:
    """A secret of another kind: a bank token, a floor price, a door code."""
    return f"{CANARY}{kind}{seed_of('airline_cargo', kind, owner_id) % 10**12:012d}"
