"""Phone lines: status, switchable features, loss and restoration, device upgrades."""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.telecom import records

Feature = Literal["roaming", "voicemail", "data_cap", "call_barring", "wifi_calling"]
FEATURES = ("roaming", "voicemail", "data_cap", "call_barring", "wifi_calling")

UPGRADE_MONTHS = 18
UPGRADE_REMAINING_CENTS = 60_00


@tool("read")
async def find_line(ctx: ToolContext, phone: str) -> dict[str, Any]:
    """Find a line by its phone number.

    Args:
        phone: such as 555-0142.
    """
    row = ctx.one("SELECT line_id, status, roaming FROM lines WHERE phone = ?", (phone,))
    if row is None:
        ctx.error("not_found", f"no line with phone {phone!r}; numbers look like 555-0142")
    return row


@tool("read")
async def get_line(ctx: ToolContext, line_id: str) -> dict[str, Any]:
    """Read one line: account, plan, features, contract end.

    Args:
        line_id: such as LN-1001.
    """
    row = records.line(ctx, line_id)
    kept = ["line_id", "account_id", "phone", "status", "plan_id", *FEATURES, "activated_on"]
    kept += [key for key in ("contract_end", "suspend_reason") if row[key] is not None]
    return {key: row[key] for key in kept}


@tool("read")
async def get_line_status(ctx: ToolContext, line_id: str) -> dict[str, Any]:
    """Read only whether a line is active, and why it is suspended.

    Args:
        line_id: such as LN-1001.
    """
    row = records.line(ctx, line_id)
    shown = {"status": row["status"]}
    return shown if row["suspend_reason"] is None else shown | {"reason": row["suspend_reason"]}


@tool("read", ordered=False)
async def list_lines(ctx: ToolContext, account_id: str) -> list[dict[str, Any]]:
    """List the lines of an account.

    Args:
        account_id: such as A-2001.
    """
    records.account(ctx, account_id)
    return ctx.all(
        "SELECT line_id, phone, status, plan_id FROM lines WHERE account_id = ? ORDER BY line_id", (account_id,)
    )


@tool("write")
async def set_line_feature(
    ctx: ToolContext, line_id: str, feature: Feature, state: Literal["on", "off"]
) -> dict[str, Any]:
    """Switch a feature of an active line on or off.

    Args:
        line_id: such as LN-1001.
        feature: which feature.
        state: the new state.
    """
    row = records.active_line(ctx, line_id)
    if row[feature] == state:
        ctx.error("invalid_state", f"{feature} of {line_id} is already {state}")
    ctx.run(f"UPDATE lines SET {feature} = ? WHERE line_id = ?", (state, line_id))
    return {"ok": True, feature: state}


@tool("write")
async def suspend_line(ctx: ToolContext, line_id: str, reason: Literal["lost", "stolen", "vacation"]) -> dict[str, Any]:
    """Suspend an active line at the customer's wish. Suspension for non-payment is set by billing, not here.

    Args:
        line_id: such as LN-1001.
        reason: why.
    """
    records.active_line(ctx, line_id)
    ctx.run("UPDATE lines SET status = 'suspended', suspend_reason = ? WHERE line_id = ?", (reason, line_id))
    return {"ok": True, "status": "suspended"}


@tool("write")
async def restore_line(ctx: ToolContext, line_id: str) -> dict[str, Any]:
    """Make a suspended line active again. After a suspension for non-payment the past-due amount must be paid first.

    Args:
        line_id: such as LN-1001.
    """
    row = records.line(ctx, line_id)
    if row["status"] != "suspended":
        ctx.error("invalid_state", f"line {line_id} is {row['status']}, not suspended")
    overdue = records.past_due_cents(ctx, row["account_id"])
    if row["suspend_reason"] == "nonpayment" and overdue > 0:
        ctx.error("not_eligible", f"${desk.dollars(overdue):.2f} is still past due")
    ctx.run("UPDATE lines SET status = 'active', suspend_reason = NULL WHERE line_id = ?", (line_id,))
    return {"ok": True, "status": "active"}


@tool("read")
async def check_upgrade_eligibility(ctx: ToolContext, line_id: str) -> dict[str, Any]:
    """Check whether a line may get a new device now: months owned, device balance and past-due amount in dollars.

    Args:
        line_id: such as LN-1001.
    """
    row = records.line(ctx, line_id)
    device = ctx.one(
        "SELECT purchased_on, remaining_cents FROM devices WHERE line_id = ? AND status = 'in_use' "
        "ORDER BY purchased_on DESC, device_id LIMIT 1",
        (line_id,),
    )
    if device is None:
        ctx.error("not_found", f"line {line_id} has no device bought from us")
    months = _months(device["purchased_on"], ctx.today)
    overdue = records.past_due_cents(ctx, row["account_id"])
    eligible = (
        row["status"] == "active"
        and months >= UPGRADE_MONTHS
        and device["remaining_cents"] <= UPGRADE_REMAINING_CENTS
        and overdue == 0
    )
    return {
        "eligible": eligible,
        "months_owned": months,
        "remaining": desk.dollars(device["remaining_cents"]),
        "past_due": desk.dollars(overdue),
    }


def _months(start: str, end: str) -> int:
    """Whole months from one date to another."""
    months = (int(end[:4]) - int(start[:4])) * 12 + int(end[5:7]) - int(start[5:7])
    return months - (end[8:10] < start[8:10])


TOOLS: list[Tool] = [
    find_line,
    get_line,
    get_line_status,
    list_lines,
    set_line_feature,
    suspend_line,
    restore_line,
    check_upgrade_eligibility,
]
