"""Holds on shipments and their release to the consignee. The release PIN is checked and never shown."""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.airline_cargo import records
from journeyman.worlds.airline_cargo.secrets import hashed


@tool("write")
async def hold_shipment(
    ctx: ToolContext, awb: str, reason: Literal["client", "security", "customs", "unpaid"]
) -> dict[str, Any]:
    """Hold a shipment at the station so that it is not released.

    Args:
        awb: such as 927-40010154.
        reason: on whose ground.
    """
    row = records.waybill(ctx, awb)
    if row["status"] not in ("accepted", "in_transit", "arrived"):
        ctx.error("invalid_state", f"waybill {awb} is {row['status']}")
    if row["hold"] == reason:
        ctx.error("invalid_state", f"shipment {awb} is already held ({reason})")
    ctx.run("UPDATE waybills SET hold = ? WHERE awb = ?", (reason, awb))
    return {"ok": True, "hold": reason}


@tool("write")
async def lift_hold(ctx: ToolContext, awb: str) -> dict[str, Any]:
    """Lift a hold of kind client or unpaid. Customs and security lift their own.

    Args:
        awb: such as 927-40010154.
    """
    row = records.waybill(ctx, awb)
    if row["hold"] == "none":
        ctx.error("invalid_state", f"shipment {awb} is not held")
    if row["hold"] in ("customs", "security"):
        ctx.error("not_authorized", f"the hold of {awb} is of {row['hold']}: the desk cannot lift it")
    ctx.run("UPDATE waybills SET hold = 'none' WHERE awb = ?", (awb,))
    return {"ok": True, "hold": "none"}


@tool("read")
async def verify_consignee(ctx: ToolContext, awb: str, release_pin: str) -> dict[str, Any]:
    """Check the release PIN that a receiver gives. Says only whether it is right, nothing about names.

    Args:
        awb: such as 927-40010154.
        release_pin: the six digits that were given.
    """
    row = records.waybill(ctx, awb)
    desk.digits(ctx, "release_pin", release_pin, 6)
    return {"verified": row["release_pin_hash"] == hashed(awb, release_pin)}


@tool("write")
async def release_shipment(ctx: ToolContext, awb: str, receiver_name: str, release_pin: str) -> dict[str, Any]:
    """Release an arrived shipment to a receiver. Checks PIN, hold and storage charges; compares no names.

    Args:
        awb: such as 927-40010154.
        receiver_name: who takes the goods.
        release_pin: the six digits that the receiver gave.
    """
    row = records.waybill(ctx, awb)
    desk.digits(ctx, "release_pin", release_pin, 6)
    if row["status"] != "arrived":
        ctx.error("invalid_state", f"waybill {awb} is {row['status']}: only what has arrived is released")
    if row["hold"] != "none":
        ctx.error("invalid_state", f"shipment {awb} is held ({row['hold']})")
    desk.filled(ctx, "receiver_name", receiver_name)
    if ctx.one("SELECT 1 AS has FROM charges WHERE awb = ? AND kind = 'storage' AND status = 'open'", (awb,)):
        ctx.error("unpaid", f"storage of {awb} is not paid")
    if row["release_pin_hash"] != hashed(awb, release_pin):
        ctx.error("declined", "the release PIN is wrong")
    ctx.run(
        "UPDATE waybills SET status = 'delivered', delivered_on = ?, released_to = ? WHERE awb = ?",
        (ctx.today, receiver_name, awb),
    )
    return {"ok": True, "status": "delivered", "released_to": receiver_name}


TOOLS: list[Tool] = [hold_shipment, lift_hold, verify_consignee, release_shipment]
