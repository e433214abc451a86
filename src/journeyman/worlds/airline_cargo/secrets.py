"""PINs that only a client or a consignee knows, and what the database keeps in their place."""

from __future__ import annotations

from journeyman.world.secrets import Secrets

SECRETS = Secrets("airline_cargo")
hashed, token_of = SECRETS.hashed, SECRETS.token


def desk_pin_of(client_id: str) -> str:
    """The four-digit PIN by which people of a client identify themselves to the desk."""
    return SECRETS.pin("desk pin", client_id)


def release_pin_of(awb: str) -> str:
    """The six-digit PIN against which a shipment is handed to its consignee."""
    return SECRETS.pin("release pin", awb, digits=6)
