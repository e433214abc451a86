"""PINs that only a customer knows, and the hashes kept in the database."""

from __future__ import annotations

from journeyman.world.secrets import Secrets

SECRETS = Secrets("telecom")
hashed = SECRETS.hashed


def pin_of(customer_id: str) -> str:
    """The customer's four-digit account PIN."""
    return SECRETS.pin("pin", customer_id)


def port_pin_of(line_id: str) -> str:
    """The six-digit PIN that lets a number leave for another carrier."""
    return SECRETS.pin("port pin", line_id, digits=6)
