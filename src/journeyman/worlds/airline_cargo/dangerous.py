"""Dangerous goods: the list with its limits, and shippers' declarations. Quantities in kg or litres net per package."""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, tool
from journeyman.worlds.airline_cargo import records


def _net(milli: int | None) -> float | None:
    """Grams or millilitres as kg or litres; None where the goods are forbidden."""
    return None if milli is None else round(milli / 1000, 3)


@tool("read", ordered=False)
async def get_dg_entry(ctx: ToolContext, un_number: str) -> list[dict[str, Any]]:
    """Read the entries of a UN number, one for each packing group: class, limits net per package (null: forbidden).

    Args:
        un_number: such as UN3480.
    """
    rows = ctx.all(
        "SELECT * FROM dg_entries WHERE un_number = upper(?) ORDER BY packing_group", (un_number.replace(" ", ""),)
    )
    if not rows:
        ctx.error("not_found", f"no entry {un_number!r}; numbers look like UN3480")
    kept = ("un_number", "packing_group", "name", "hazard_class", "unit")
    return [
        {key: row[key] for key in kept}
        | {"passenger_limit": _net(row["passenger_milli"]), "cargo_limit": _net(row["cargo_milli"])}
        for row in rows
    ]


@tool("read", ordered=False)
async def get_dg_declaration(ctx: ToolContext, awb: str) -> list[dict[str, Any]]:
    """Read the shipper's declarations of a waybill as they were sent in; net is kg or litres per package.

    Args:
        awb: such as 927-40010154.
    """
    records.waybill(ctx, awb)
    rows = ctx.all("SELECT * FROM dg_declarations WHERE awb = ? ORDER BY declaration_id", (awb,))
    kept = ("declaration_id", "un_number", "packing_group", "hazard_class", "packages")
    rest = ("aircraft", "signed", "status", "reject_reason")
    return [
        {key: row[key] for key in kept} | {"net": _net(row["net_milli"])} | {key: row[key] for key in rest}
        for row in rows
    ]


@tool("write")
async def accept_dg_declaration(ctx: ToolContext, declaration_id: str) -> dict[str, Any]:
    """Accept a declaration that was submitted. The system compares it with nothing.

    Args:
        declaration_id: such as DG-1001.
    """
    _submitted(ctx, declaration_id)
    ctx.run("UPDATE dg_declarations SET status = 'accepted' WHERE declaration_id = ?", (declaration_id,))
    return {"ok": True, "status": "accepted"}


@tool("write")
async def reject_dg_declaration(
    ctx: ToolContext,
    declaration_id: str,
    reason: Literal["unsigned", "class_mismatch", "packing_group", "packages", "aircraft", "over_limit", "station"],
) -> dict[str, Any]:
    """Send a submitted declaration back to the shipper.

    Args:
        declaration_id: such as DG-1001.
        reason: what is wrong with it.
    """
    _submitted(ctx, declaration_id)
    ctx.run(
        "UPDATE dg_declarations SET status = 'rejected', reject_reason = ? WHERE declaration_id = ?",
        (reason, declaration_id),
    )
    return {"ok": True, "status": "rejected", "reason": reason}


def _submitted(ctx: ToolContext, declaration_id: str) -> None:
    row = records.declaration(ctx, declaration_id)
    if row["status"] != "submitted":
        ctx.error("invalid_state", f"declaration {declaration_id} is {row['status']}")


TOOLS: list[Tool] = [get_dg_entry, get_dg_declaration, accept_dg_declaration, reject_dg_declaration]
