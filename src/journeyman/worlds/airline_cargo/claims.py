"""Claims for damage, delay, loss and shortage. Amounts are decimal dollars, weights kg.

The system keeps what is claimed apart from what is paid, and knows no notice period and no cap.
"""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.airline_cargo import records
from journeyman.worlds.airline_cargo.records import kilos


@tool("read", ordered=False)
async def list_claims(ctx: ToolContext, awb: str) -> list[dict[str, Any]]:
    """List the claims on a waybill.

    Args:
        awb: such as 927-40010154.
    """
    records.waybill(ctx, awb)
    return ctx.all("SELECT claim_id, kind, status, notice_on FROM claims WHERE awb = ? ORDER BY claim_id", (awb,))


@tool("read")
async def get_claim(ctx: ToolContext, claim_id: str) -> dict[str, Any]:
    """Read one claim: affected gross weight in kg, claimed and settled sums in dollars.

    Args:
        claim_id: such as CLM-1001.
    """
    row = records.claim(ctx, claim_id)
    return {
        **{key: row[key] for key in ("claim_id", "awb", "client_id", "kind", "status", "reject_reason", "notice_on")},
        "weight_kg": kilos(row["weight_grams"]),
        "claimed": desk.dollars(row["claimed_cents"]),
        "settled": desk.dollars(row["settled_cents"]),
    }


@tool("write")
async def open_claim(
    ctx: ToolContext,
    awb: str,
    kind: Literal["damage", "delay", "loss", "shortage"],
    weight_kg: float,
    amount: float,
) -> dict[str, Any]:
    """Open a claim with today's date of notice.

    Args:
        awb: such as 927-40010154.
        kind: what happened.
        weight_kg: gross weight of the pieces concerned, in kg.
        amount: dollars claimed.
    """
    row = records.waybill(ctx, awb)
    if row["status"] in ("draft", "issued", "void"):
        ctx.error("invalid_state", f"waybill {awb} is {row['status']}: nothing was carried")
    grams, cents = records.grams_of(ctx, weight_kg), records.cents_of(ctx, amount)
    if grams > row["weight_grams"]:
        ctx.error("invalid_argument", f"argument `weight_kg`: the shipment weighs {kilos(row['weight_grams'])} kg")
    values = (awb, kind, grams, cents, 0, ctx.today, "open", None, None)
    return {"ok": True, "claim_id": desk.add(ctx, "claims", *values)}


@tool("write")
async def settle_claim(
    ctx: ToolContext, claim_id: str, amount: float, approval_id: str | None = None
) -> dict[str, Any]:
    """Settle an open claim by paying a sum; final. Above 500.00 dollars an approval is needed.

    Args:
        claim_id: such as CLM-1001.
        amount: dollars to pay, at most what is claimed.
        approval_id: a manager's approval of kind claim for the client.
    """
    row = _open(ctx, claim_id)
    cents = records.cents_of(ctx, amount)
    if cents > row["claimed_cents"]:
        ctx.error("invalid_argument", f"argument `amount`: ${desk.dollars(row['claimed_cents']):.2f} is claimed")
    if cents > records.CLAIM_LIMIT_CENTS or approval_id is not None:
        records.use_approval(ctx, approval_id, row["client_id"], "claim", cents)
    ctx.run(
        "UPDATE claims SET status = 'settled', settled_cents = ?, approval_id = ? WHERE claim_id = ?",
        (cents, approval_id, claim_id),
    )
    return {"ok": True, "status": "settled", "amount": desk.dollars(cents)}


@tool("write")
async def reject_claim(
    ctx: ToolContext, claim_id: str, reason: Literal["late_notice", "excluded", "no_damage", "withdrawn"]
) -> dict[str, Any]:
    """Reject an open claim.

    Args:
        claim_id: such as CLM-1001.
        reason: why.
    """
    _open(ctx, claim_id)
    ctx.run("UPDATE claims SET status = 'rejected', reject_reason = ? WHERE claim_id = ?", (reason, claim_id))
    return {"ok": True, "status": "rejected"}


def _open(ctx: ToolContext, claim_id: str) -> desk.Row:
    row = records.claim(ctx, claim_id)
    if row["status"] != "open":
        ctx.error("invalid_state", f"claim {claim_id} is {row['status']}")
    return row


TOOLS: list[Tool] = [list_claims, get_claim, open_claim, settle_claim, reject_claim]
