"""Tariffs, quotes, charges, storage, liability rates. Amounts are decimal dollars, weights kg."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.airline_cargo import records

Product = Literal["general", "express", "perishable", "pharma", "live_animals"]
Charge = Literal["amendment", "dg_fee", "storage", "cancellation", "no_show", "handling", "valuation"]
_FREE_DAYS = {"perishable": 1, "pharma": 1, "live_animals": 0}


@tool("read")
async def get_tariff(ctx: ToolContext, origin: str, destination: str, product: Product) -> dict[str, Any]:
    """Read the public tariff: dollars per chargeable kg and the minimum, before discounts and surcharges.

    Args:
        origin: such as HVP.
        destination: such as KHL.
        product: what is sold.
    """
    row = records.tariff(ctx, origin, destination, product)
    return {
        "origin": row["origin"],
        "destination": row["destination"],
        "product": product,
        "per_kg": desk.dollars(row["cents_per_kg"]),
        "minimum": desk.dollars(row["minimum_cents"]),
    }


@tool("read")
async def quote_freight(
    ctx: ToolContext,
    origin: str,
    destination: str,
    product: Product,
    chargeable_kg: float,
    contract_id: str | None = None,
) -> dict[str, Any]:
    """Work out freight and fuel in dollars for a chargeable weight. Security, waybill and other fees are not in it.

    Args:
        origin: such as HVP.
        destination: such as KHL.
        product: what is sold.
        chargeable_kg: chargeable weight in kg, worked out before.
        contract_id: takes this contract's discount off.
    """
    row = records.tariff(ctx, origin, destination, product)
    grams = records.grams_of(ctx, chargeable_kg, "chargeable_kg")
    off = 0 if contract_id is None else records.contract(ctx, contract_id)["discount_percent"]
    freight = max(row["minimum_cents"], _round(Decimal(grams) * row["cents_per_kg"] * (100 - off) / 100_000))
    fuel = ctx.one(
        "SELECT cents FROM surcharges WHERE surcharge = 'fuel' AND valid_from <= ? "
        "AND (valid_to IS NULL OR valid_to >= ?)",
        (ctx.today, ctx.today),
    )
    fuel_cents = _round(Decimal(grams) * fuel["cents"] / 1000) if fuel else 0
    return {"freight": desk.dollars(freight), "fuel": desk.dollars(fuel_cents), "discount_percent": off}


def _round(cents: Decimal) -> int:
    return int(cents.quantize(Decimal(1), ROUND_HALF_UP))


@tool("read", ordered=False)
async def list_surcharges(ctx: ToolContext) -> list[dict[str, Any]]:
    """List all surcharges, past ones too, in dollars per unit of their basis, with their days."""
    rows = ctx.all("SELECT * FROM surcharges ORDER BY surcharge, valid_from")
    return [
        {key: row[key] for key in ("surcharge", "basis", "valid_from", "valid_to")}
        | {"rate": desk.dollars(row["cents"])}
        for row in rows
    ]


@tool("read", ordered=False)
async def list_charges(ctx: ToolContext, awb: str) -> list[dict[str, Any]]:
    """List the charges of a waybill, amounts in dollars; waived is the part that is not owed.

    Args:
        awb: such as 927-40010154.
    """
    records.waybill(ctx, awb)
    rows = ctx.all(
        "SELECT charge_id, kind, amount_cents, waived_cents, status, charged_on FROM charges WHERE awb = ? "
        "ORDER BY charge_id",
        (awb,),
    )
    return [desk.in_dollars(row) for row in rows]


@tool("write")
async def add_charge(ctx: ToolContext, awb: str, kind: Charge, amount: float) -> dict[str, Any]:
    """Put a charge on a waybill. The amount is taken as given.

    Args:
        awb: such as 927-40010154.
        kind: what it is for.
        amount: dollars.
    """
    row = records.waybill(ctx, awb)
    if row["status"] == "draft":
        ctx.error("invalid_state", f"waybill {awb} is a draft")
    cents = records.cents_of(ctx, amount)
    return {"ok": True, "charge_id": desk.add(ctx, "charges", awb, kind, cents, 0, "open", None, ctx.today)}


@tool("write")
async def waive_charge(
    ctx: ToolContext, charge_id: str, amount: float, approval_id: str | None = None
) -> dict[str, Any]:
    """Waive an open charge, whole or in part. Above 150.00 dollars an approval is needed.

    Args:
        charge_id: such as CH-6001.
        amount: dollars to waive.
        approval_id: a manager's approval of kind fee_waiver for the waybill's client.
    """
    row = records.charge(ctx, charge_id)
    cents = records.cents_of(ctx, amount)
    if row["status"] != "open":
        ctx.error("invalid_state", f"charge {charge_id} is {row['status']}")
    left = row["amount_cents"] - row["waived_cents"]
    if cents > left:
        ctx.error("invalid_argument", f"argument `amount`: ${desk.dollars(left):.2f} of {charge_id} is left")
    if row["waived_cents"] + cents > records.WAIVER_LIMIT_CENTS or approval_id is not None:
        records.use_approval(ctx, approval_id, row["client_id"], "fee_waiver", row["waived_cents"] + cents)
    status = "waived" if cents == left else "open"
    ctx.run(
        "UPDATE charges SET waived_cents = waived_cents + ?, status = ?, approval_id = ? WHERE charge_id = ?",
        (cents, status, approval_id, charge_id),
    )
    return {"ok": True, "status": status, "left": desk.dollars(left - cents)}


@tool("read")
async def quote_storage(ctx: ToolContext, awb: str, until: str) -> dict[str, Any]:
    """Work out the standard storage of an arrived shipment in dollars. Knows no contract, weekend or late notice.

    Args:
        awb: such as 927-40010154.
        until: the day of collection, such as 2026-05-13.
    """
    row = records.waybill(ctx, awb)
    last = records.day(ctx, until, "until")
    if row["status"] != "arrived" or row["arrived_on"] is None:
        ctx.error("invalid_state", f"waybill {awb} is {row['status']}: storage runs while a shipment is arrived")
    days = records.days_between(row["arrived_on"], last)
    if days < 0:
        ctx.error("invalid_argument", f"argument `until`: the shipment arrived on {row['arrived_on']}")
    station = records.station(ctx, row["destination"])
    free = _free_days(ctx, row, station)
    charged = max(0, days - free)
    cents = _round(Decimal(charged * row["chargeable_grams"] * station["storage_cents_per_kg"]) / 1000)
    if charged:
        cents = max(cents, station["storage_minimum_cents"])
    return {
        "arrived_on": row["arrived_on"],
        "days_since_arrival": days,
        "free_days": free,
        "charged_days": charged,
        "chargeable_kg": records.kilos(row["chargeable_grams"]),
        "per_kg_day": desk.dollars(station["storage_cents_per_kg"]),
        "amount": desk.dollars(cents),
    }


def _free_days(ctx: ToolContext, waybill: desk.Row, station: desk.Row) -> int:
    dangerous = ctx.one("SELECT 1 AS has FROM waybill_handling WHERE awb = ? AND code = 'DGR'", (waybill["awb"],))
    if dangerous is not None and waybill["product"] != "live_animals":
        return 1
    return _FREE_DAYS.get(str(waybill["product"]), int(station["free_days"]))


@tool("read")
async def get_liability_rate(ctx: ToolContext, date: str) -> dict[str, Any]:
    """Read what one liability unit is worth in dollars on a day.

    Args:
        date: such as 2026-05-11.
    """
    records.day(ctx, date, "date")
    row = ctx.one("SELECT * FROM liability_rates WHERE ? BETWEEN valid_from AND valid_to", (date,))
    if row is None:
        ctx.error("not_found", f"no liability rate for {date}")
    return {
        "dollars_per_unit": desk.dollars(row["cents_per_unit"]),
        "valid_from": row["valid_from"],
        "valid_to": row["valid_to"],
    }


TOOLS: list[Tool] = [
    get_tariff,
    quote_freight,
    list_surcharges,
    list_charges,
    add_charge,
    waive_charge,
    quote_storage,
    get_liability_rate,
]
