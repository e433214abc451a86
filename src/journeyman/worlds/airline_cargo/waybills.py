"""Air waybills and their houses: reading, amending, voiding. Weights in kg, volumes in cbm, lengths in cm.

An amendment is taken as it comes: the system works nothing out and looks at no contract, station or flight.
"""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.airline_cargo import records
from journeyman.worlds.airline_cargo.records import cubic, kilos

Code = Literal["DGR", "CAO", "PER", "PIL", "COL", "CRT", "FRO", "AVI", "HEA", "BIG", "VAL"]


@tool("read")
async def find_waybill(ctx: ToolContext, awb: str) -> dict[str, Any]:
    """Find an air waybill by its number: client and stations. For all of it use get_waybill.

    Args:
        awb: such as 927-40010154.
    """
    row = records.waybill(ctx, awb)
    return {key: row[key] for key in ("client_id", "origin", "destination")}


@tool("read", ordered=False)
async def get_waybill(ctx: ToolContext, awb: str) -> dict[str, Any]:
    """Read one air waybill whole: parties, goods, pieces, weights in kg, volume in cbm, handling codes, hold.

    Args:
        awb: such as 927-40010154.
    """
    row = records.waybill(ctx, awb)
    codes = ctx.all("SELECT code FROM waybill_handling WHERE awb = ? ORDER BY code", (awb,))
    head = ("awb", "kind", "client_id", "booking_id", "contract_id", "product", "commodity", "origin", "destination")
    parties = ("shipper_name", "consignee_name", "notify_name", "goods", "temp_range")
    dates = [key for key in ("arrived_on", "delivered_on", "released_to") if row[key] is not None]
    value = row["declared_value_cents"]
    return {
        **{key: row[key] for key in (*head, *parties, "pieces")},
        "weight_kg": kilos(row["weight_grams"]),
        "volume_cbm": cubic(row["volume_l"]),
        "chargeable_kg": kilos(row["chargeable_grams"]),
        "declared_value": None if value is None else desk.dollars(value),
        **{key: row[key] for key in ("status", "hold", "issued_on", *dates)},
        "handling": [item["code"] for item in codes],
    }


@tool("read", ordered=False)
async def get_waybill_pieces(ctx: ToolContext, awb: str) -> list[dict[str, Any]]:
    """Read the pieces of a waybill as the acceptance scale or the booking has them: size in cm, weight of one piece in kg.

    Args:
        awb: such as 927-40010154.
    """
    records.waybill(ctx, awb)
    rows = ctx.all("SELECT * FROM waybill_pieces WHERE awb = ? ORDER BY line_no", (awb,))
    kept = ("line_no", "pieces", "length_cm", "width_cm", "height_cm")
    return [{key: row[key] for key in kept} | {"piece_kg": kilos(row["piece_grams"])} for row in rows]


@tool("read")
async def list_waybills(
    ctx: ToolContext,
    client_id: str,
    status: Literal["draft", "issued", "accepted", "in_transit", "arrived", "delivered", "void"] | None = None,
) -> list[dict[str, Any]]:
    """List the air waybills of a client, newest first.

    Args:
        client_id: such as CL-1001.
        status: only those in this state.
    """
    records.client(ctx, client_id)
    return ctx.all(
        "SELECT awb, origin, destination, status, issued_on FROM waybills WHERE client_id = ? "
        "AND (? IS NULL OR status = ?) ORDER BY issued_on DESC, awb LIMIT 15",
        (client_id, status, status),
    )


@tool("read", ordered=False)
async def list_house_waybills(ctx: ToolContext, awb: str) -> list[dict[str, Any]]:
    """List the house waybills under a master, weights in kg. A direct waybill has none.

    Args:
        awb: the master, such as 927-40010154.
    """
    records.waybill(ctx, awb)
    rows = ctx.all("SELECT * FROM house_waybills WHERE awb = ? ORDER BY house_id", (awb,))
    kept = ("house_id", "shipper_name", "consignee_name", "goods", "pieces")
    return [{key: row[key] for key in kept} | {"weight_kg": kilos(row["weight_grams"])} for row in rows]


@tool("write")
async def amend_waybill(
    ctx: ToolContext,
    awb: str,
    pieces: int | None = None,
    weight_kg: float | None = None,
    volume_cbm: float | None = None,
    chargeable_kg: float | None = None,
    goods: str | None = None,
) -> dict[str, Any]:
    """Overwrite figures or goods of an air waybill. Only those given change; nothing is worked out or checked against policy.

    Args:
        awb: such as 927-40010154.
        pieces: new number of pieces.
        weight_kg: new gross weight in kg.
        volume_cbm: new volume in cbm.
        chargeable_kg: new chargeable weight in kg.
        goods: new description of the goods.
    """
    row = records.waybill(ctx, awb)
    if row["status"] in ("void", "delivered"):
        ctx.error("invalid_state", f"waybill {awb} is {row['status']}")
    given = _given(ctx, pieces, weight_kg, {"goods": goods})
    if volume_cbm is not None:
        given["volume_l"] = records.litres_of(ctx, volume_cbm)
    if chargeable_kg is not None:
        given["chargeable_grams"] = records.grams_of(ctx, chargeable_kg, "chargeable_kg")
    fresh = desk.overwrite(ctx, "waybills", "awb", row, given)
    return {"ok": True, "changed": sorted(_SHOWN.get(column, column) for column in fresh)}


@tool("write")
async def amend_parties(
    ctx: ToolContext, awb: str, consignee_name: str | None = None, notify_name: str | None = None
) -> dict[str, Any]:
    """Overwrite the consignee or the notify party of an air waybill. For figures use amend_waybill.

    Args:
        awb: such as 927-40010154.
        consignee_name: new consignee.
        notify_name: new notify party.
    """
    row = records.waybill(ctx, awb)
    if row["status"] in ("void", "delivered"):
        ctx.error("invalid_state", f"waybill {awb} is {row['status']}")
    given = _given(ctx, None, None, {"consignee_name": consignee_name, "notify_name": notify_name})
    return {"ok": True, "changed": sorted(desk.overwrite(ctx, "waybills", "awb", row, given))}


@tool("write")
async def amend_house_waybill(
    ctx: ToolContext,
    house_id: str,
    pieces: int | None = None,
    weight_kg: float | None = None,
    goods: str | None = None,
    consignee_name: str | None = None,
) -> dict[str, Any]:
    """Overwrite fields of a house waybill. The master is not adapted.

    Args:
        house_id: such as HW-1001.
        pieces: new number of pieces.
        weight_kg: new gross weight in kg.
        goods: new description of the goods.
        consignee_name: new consignee.
    """
    row = records.house(ctx, house_id)
    if records.waybill(ctx, row["awb"])["status"] in ("void", "delivered"):
        ctx.error("invalid_state", f"the master {row['awb']} can no longer be changed")
    given = _given(ctx, pieces, weight_kg, {"goods": goods, "consignee_name": consignee_name})
    fresh = desk.overwrite(ctx, "house_waybills", "house_id", row, given)
    return {"ok": True, "changed": sorted(_SHOWN.get(column, column) for column in fresh)}


_SHOWN = {"weight_grams": "weight_kg", "volume_l": "volume_cbm", "chargeable_grams": "chargeable_kg"}


def _given(ctx: ToolContext, pieces: int | None, weight_kg: float | None, texts: dict[str, str | None]) -> desk.Row:
    """The columns an amendment gives, checked for form."""
    given: desk.Row = {}
    if pieces is not None:
        given["pieces"] = records.positive(ctx, pieces)
    if weight_kg is not None:
        given["weight_grams"] = records.grams_of(ctx, weight_kg)
    for column, text in texts.items():
        if text is not None:
            given[column] = desk.filled(ctx, column, text)
    return given


@tool("write")
async def void_waybill(ctx: ToolContext, awb: str) -> dict[str, Any]:
    """Void a waybill before acceptance; its booking stays. To give the space back use cancel_booking.

    Args:
        awb: such as 927-40010154.
    """
    row = records.waybill(ctx, awb)
    if row["status"] not in ("draft", "issued"):
        ctx.error("invalid_state", f"waybill {awb} is {row['status']}")
    ctx.run("UPDATE waybills SET status = 'void' WHERE awb = ?", (awb,))
    return {"ok": True, "status": "void"}


@tool("write")
async def set_handling_code(ctx: ToolContext, awb: str, code: Code, state: Literal["on", "off"]) -> dict[str, Any]:
    """Put a special handling code on a waybill or take it off.

    Args:
        awb: such as 927-40010154.
        code: such as DGR for dangerous goods or CAO for cargo aircraft only.
        state: on or off.
    """
    row = records.waybill(ctx, awb)
    if row["status"] in ("void", "delivered"):
        ctx.error("invalid_state", f"waybill {awb} is {row['status']}")
    has = ctx.one("SELECT 1 AS has FROM waybill_handling WHERE awb = ? AND code = ?", (awb, code)) is not None
    if has == (state == "on"):
        ctx.error("invalid_state", f"code {code} of {awb} is already {state}")
    if state == "on":
        ctx.run("INSERT INTO waybill_handling VALUES (?, ?)", (awb, code))
    else:
        ctx.run("DELETE FROM waybill_handling WHERE awb = ? AND code = ?", (awb, code))
    return {"ok": True, "code": code, "state": state}


TOOLS: list[Tool] = [
    find_waybill,
    get_waybill,
    get_waybill_pieces,
    list_waybills,
    list_house_waybills,
    amend_waybill,
    amend_parties,
    amend_house_waybill,
    void_waybill,
    set_handling_code,
]
