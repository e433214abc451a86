"""Where shipments are: status, events, irregularities. Times are UTC."""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.airline_cargo import records


@tool("read")
async def get_shipment_status(ctx: ToolContext, awb: str) -> dict[str, Any]:
    """Tell where a shipment is: status, last station and event, hold. May be told to anybody who gives the number.

    Args:
        awb: such as 927-40010154.
    """
    row = records.waybill(ctx, awb)
    last = ctx.one(
        "SELECT code, station, substr(happened_at, 1, 10) AS date FROM tracking_events WHERE awb = ? "
        "ORDER BY event_no DESC LIMIT 1",
        (awb,),
    )
    found = {"status": row["status"], "pieces": row["pieces"], "hold": row["hold"]}
    if last is None:
        return found | {"station": row["origin"], "last_event": None, "date": None}
    return found | {"station": last["station"], "last_event": last["code"], "date": last["date"]}


@tool("read")
async def track_shipment(ctx: ToolContext, awb: str) -> list[dict[str, Any]]:
    """List all tracking events of a shipment, oldest first, with the pieces seen. For the state alone use get_shipment_status.

    Args:
        awb: such as 927-40010154.
    """
    records.waybill(ctx, awb)
    rows = ctx.all("SELECT * FROM tracking_events WHERE awb = ? ORDER BY event_no", (awb,))
    return [
        {"code": r["code"], "station": r["station"], "pieces": r["pieces"], "utc": r["happened_at"][:16]} for r in rows
    ]


@tool("read", ordered=False)
async def list_irregularities(ctx: ToolContext, awb: str) -> list[dict[str, Any]]:
    """List what stations reported about a shipment: damage, missing pieces, offloads, poor packing.

    Args:
        awb: such as 927-40010154.
    """
    records.waybill(ctx, awb)
    return ctx.all(
        "SELECT irregularity_id, station, kind, pieces, status, substr(reported_at, 1, 10) AS date "
        "FROM irregularities WHERE awb = ? ORDER BY reported_at, irregularity_id",
        (awb,),
    )


@tool("write")
async def report_irregularity(
    ctx: ToolContext,
    awb: str,
    station: str,
    kind: Literal["damaged", "missing", "offloaded", "misrouted", "poor_packing", "temperature"],
    pieces: int,
) -> dict[str, Any]:
    """Report an irregularity of a shipment to a station.

    Args:
        awb: such as 927-40010154.
        station: where it shows, such as HVP.
        kind: what is wrong.
        pieces: pieces concerned, at most those of the waybill.
    """
    row = records.waybill(ctx, awb)
    code = records.station(ctx, station)["station"]
    desk.between(ctx, "pieces", pieces, 1, row["pieces"])
    return {"ok": True, "irregularity_id": desk.add(ctx, "irregularities", awb, code, kind, pieces, "open", ctx.now)}


TOOLS: list[Tool] = [get_shipment_status, track_shipment, list_irregularities, report_irregularity]
