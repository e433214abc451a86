"""Plans and add-ons of a line. Prices are dollars a month."""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.telecom import records


@tool("read")
async def get_plan(ctx: ToolContext, line_id: str) -> dict[str, Any]:
    """Read the plan of a line: price in dollars a month, data in GB.

    Args:
        line_id: such as LN-1001.
    """
    row = records.line(ctx, line_id)
    plan = records.plan(ctx, row["plan_id"])
    return {
        "plan_id": plan["plan_id"],
        "monthly": desk.dollars(plan["monthly_cents"]),
        "data_gb": plan["data_gb"],
        "used_gb": row["used_gb"],
    }


@tool("read")
async def list_plans(
    ctx: ToolContext, kind: Literal["personal", "business"], retired: bool = False
) -> list[dict[str, Any]]:
    """List the plans on offer, cheapest first, prices in dollars a month.

    Args:
        kind: plans for which kind of customer.
        retired: list the plans no longer sold instead.
    """
    rows = ctx.all(
        "SELECT plan_id, monthly_cents, data_gb, hotspot FROM plans WHERE kind = ? AND status = ? "
        "ORDER BY monthly_cents, plan_id",
        (kind, "retired" if retired else "current"),
    )
    return [desk.in_dollars(row) for row in rows]


@tool("write")
async def change_plan(ctx: ToolContext, line_id: str, plan_id: str) -> dict[str, Any]:
    """Move an active line to another plan on offer for its kind of customer. Contract rules are in the policy.

    Args:
        line_id: such as LN-1001.
        plan_id: such as plus.
    """
    row = records.active_line(ctx, line_id)
    plan = records.plan(ctx, plan_id)
    if row["plan_id"] == plan_id:
        ctx.error("invalid_state", f"line {line_id} is already on {plan_id}")
    if plan["status"] == "retired":
        ctx.error("not_eligible", f"plan {plan_id} is retired")
    kind = ctx.one(
        "SELECT c.kind FROM accounts a JOIN customers c USING (customer_id) WHERE a.account_id = ?",
        (row["account_id"],),
    )
    if kind is None or kind["kind"] != plan["kind"]:
        ctx.error("not_eligible", f"plan {plan_id} is for {plan['kind']} customers")
    ctx.run("UPDATE lines SET plan_id = ? WHERE line_id = ?", (plan_id, line_id))
    return {"ok": True, "plan_id": plan_id, "monthly": desk.dollars(plan["monthly_cents"])}


@tool("write")
async def bill_proration(
    ctx: ToolContext, line_id: str, amount: float, direction: Literal["charge", "credit"]
) -> dict[str, Any]:
    """Put the proration of a plan change on the account's balance. How much it is, and when there is none, is in the policy.

    Args:
        line_id: the line whose plan changes today, such as LN-1001.
        amount: dollars for the days left in the cycle.
        direction: charge for a dearer plan, credit for a cheaper one.
    """
    row = records.active_line(ctx, line_id)
    records.open_account(ctx, row["account_id"])
    cents = records.cents_of(ctx, amount)
    today = "SELECT 1 AS has FROM prorations WHERE line_id = ? AND substr(billed_at, 1, 10) = ?"
    if ctx.one(today, (line_id, ctx.today)):
        ctx.error("invalid_state", f"a proration of line {line_id} was already billed today")
    proration_id = desk.add(ctx, "prorations", line_id, direction, cents, ctx.now)
    balance = records.move_balance(ctx, row["account_id"], cents if direction == "charge" else -cents)
    return {"ok": True, "proration_id": proration_id, "balance": balance}


@tool("read", ordered=False)
async def list_addons(ctx: ToolContext, line_id: str) -> dict[str, Any]:
    """List the add-ons a line has and those it could take, in dollars a month.

    Args:
        line_id: such as LN-1001.
    """
    records.line(ctx, line_id)
    active = ctx.all("SELECT addon_id FROM line_addons WHERE line_id = ? ORDER BY addon_id", (line_id,))
    have = [row["addon_id"] for row in active]
    offered = ctx.all("SELECT addon_id, monthly_cents FROM addons WHERE status = 'current' ORDER BY addon_id")
    available = [desk.in_dollars(row) for row in offered if row["addon_id"] not in have]
    return {"active": have, "available": available}


@tool("write")
async def add_addon(ctx: ToolContext, line_id: str, addon_id: str) -> dict[str, Any]:
    """Add an add-on to an active line.

    Args:
        line_id: such as LN-1001.
        addon_id: such as roam-pass.
    """
    records.active_line(ctx, line_id)
    addon = records.addon(ctx, addon_id)
    if addon["status"] == "retired":
        ctx.error("not_eligible", f"add-on {addon_id} is retired")
    if ctx.one("SELECT 1 AS has FROM line_addons WHERE line_id = ? AND addon_id = ?", (line_id, addon_id)):
        ctx.error("invalid_state", f"line {line_id} already has {addon_id}")
    ctx.run("INSERT INTO line_addons VALUES (?, ?, ?)", (line_id, addon_id, ctx.now))
    return {"ok": True, "monthly": desk.dollars(addon["monthly_cents"])}


@tool("write")
async def remove_addon(ctx: ToolContext, line_id: str, addon_id: str) -> dict[str, Any]:
    """Remove an add-on from a line.

    Args:
        line_id: such as LN-1001.
        addon_id: such as roam-pass.
    """
    records.line(ctx, line_id)
    if not ctx.one("SELECT 1 AS has FROM line_addons WHERE line_id = ? AND addon_id = ?", (line_id, addon_id)):
        ctx.error("not_found", f"line {line_id} does not have {addon_id!r}")
    ctx.run("DELETE FROM line_addons WHERE line_id = ? AND addon_id = ?", (line_id, addon_id))
    return {"ok": True}


TOOLS: list[Tool] = [get_plan, list_plans, change_plan, bill_proration, list_addons, add_addon, remove_addon]
