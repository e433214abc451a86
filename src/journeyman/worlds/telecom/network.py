"""Coverage, line tests, SIMs and number porting. Never returns a PUK or a port PIN."""

from __future__ import annotations

from typing import Any, Literal

from journeyman.world import Tool, ToolContext, desk, tool
from journeyman.worlds.telecom import records
from journeyman.worlds.telecom.secrets import hashed


@tool("read")
async def check_outage(ctx: ToolContext, city: str) -> dict[str, Any]:
    """List outages of the last weeks in a city; hours is how long each lasted, or is expected to last.

    Args:
        city: such as Alderport.
    """
    known = ctx.one("SELECT city FROM cells WHERE lower(city) = lower(?)", (city,))
    if known is None:
        ctx.error("not_found", f"no coverage area {city!r}")
    outages = ctx.all(
        "SELECT o.outage_id, o.kind, o.hours, o.status, substr(o.started_at, 1, 10) AS started "
        "FROM outages o JOIN cells c USING (cell_id) WHERE c.city = ? ORDER BY o.started_at DESC, o.outage_id",
        (known["city"],),
    )
    return {"city": known["city"], "outages": outages}


@tool("read")
async def run_line_test(ctx: ToolContext, line_id: str) -> dict[str, Any]:
    """Test a line: its own status, its SIM, and the worst cell of the customer's city.

    Args:
        line_id: such as LN-1001.
    """
    row = records.line(ctx, line_id)
    sim = ctx.one(
        "SELECT status FROM sims WHERE line_id = ? ORDER BY status = 'replaced', sim_id DESC LIMIT 1", (line_id,)
    )
    cell = ctx.one(
        "SELECT x.status FROM accounts a JOIN customers c USING (customer_id) JOIN cells x ON x.city = c.city "
        "WHERE a.account_id = ? ORDER BY x.status = 'up', x.status = 'degraded' LIMIT 1",
        (row["account_id"],),
    )
    states = {
        "line": row["status"],
        "sim": sim["status"] if sim else "none",
        "cell": cell["status"] if cell else "up",
    }
    healthy = states == {"line": "active", "sim": "active", "cell": "up"}
    return states | {"result": "ok" if healthy else "fault"}


@tool("write")
async def replace_sim(ctx: ToolContext, line_id: str, kind: Literal["physical", "esim"]) -> dict[str, Any]:
    """Give a line a new SIM; the old one stops working at once.

    Args:
        line_id: such as LN-1001.
        kind: a card by post or an eSIM.
    """
    if records.line(ctx, line_id)["status"] == "closed":
        ctx.error("inactive", f"line {line_id} is closed")
    ctx.run("UPDATE sims SET status = 'replaced' WHERE line_id = ? AND status != 'replaced'", (line_id,))
    return {"ok": True, "sim_id": desk.add(ctx, "sims", line_id, kind, "active", None)}


@tool("read")
async def get_port_status(ctx: ToolContext, phone: str) -> dict[str, Any]:
    """Read the latest port request of a number.

    Args:
        phone: such as 555-0142.
    """
    row = ctx.one(
        "SELECT p.port_id, p.direction, p.carrier, p.status FROM number_ports p JOIN lines l USING (line_id) "
        "WHERE l.phone = ? ORDER BY p.requested_at DESC, p.port_id DESC LIMIT 1",
        (phone,),
    )
    if row is None:
        ctx.error("not_found", f"no port request for {phone!r}")
    return row


@tool("write")
async def send_port_pin(ctx: ToolContext, line_id: str) -> dict[str, Any]:
    """Text the port PIN of an active line to its owner. The PIN is never shown to the desk.

    Args:
        line_id: such as LN-1001.
    """
    row = records.active_line(ctx, line_id)
    owner = records.account(ctx, row["account_id"])["customer_id"]
    desk.add(ctx, "messages", owner, "sms", "port_pin", f"Port PIN of {line_id}", ctx.now)
    return {"ok": True, "sent_to": "owner"}


@tool("write")
async def request_port_out(ctx: ToolContext, line_id: str, carrier: str, port_pin: str) -> dict[str, Any]:
    """Release the number of an active line to another carrier.

    Args:
        line_id: such as LN-1001.
        carrier: name of the receiving carrier.
        port_pin: the six digits that the owner gives.
    """
    row = records.active_line(ctx, line_id)
    if not carrier.strip():
        ctx.error("invalid_argument", "argument `carrier`: must not be empty")
    if ctx.one("SELECT 1 AS has FROM number_ports WHERE line_id = ? AND status = 'requested'", (line_id,)):
        ctx.error("invalid_state", f"line {line_id} already has an open port request")
    if row["port_pin_hash"] != hashed(line_id, port_pin):
        ctx.error("declined", "the port PIN is wrong")
    port_id = ctx.next_id("number_ports")
    ctx.run("INSERT INTO number_ports VALUES (?, ?, 'out', ?, 'requested', ?)", (port_id, line_id, carrier, ctx.now))
    return {"ok": True, "port_id": port_id}


@tool("read")
async def list_port_requests(ctx: ToolContext, line_id: str) -> list[dict[str, Any]]:
    """List the port requests of a line, newest first, with the day each was made.

    Args:
        line_id: such as LN-1001.
    """
    records.line(ctx, line_id)
    return ctx.all(
        "SELECT port_id, direction, carrier, status, substr(requested_at, 1, 10) AS requested_on FROM number_ports "
        "WHERE line_id = ? ORDER BY requested_at DESC, port_id DESC LIMIT 10",
        (line_id,),
    )


@tool("write")
async def resubmit_port_in(ctx: ToolContext, port_id: str, port_pin: str) -> dict[str, Any]:
    """Send a rejected incoming port request to the other carrier again. It becomes a new request.

    Args:
        port_id: the rejected request, such as PRT-1001.
        port_pin: the six digits that the other carrier gave the customer.
    """
    row = records.port(ctx, port_id)
    if row["direction"] != "in" or row["status"] != "rejected":
        ctx.error("invalid_state", f"port request {port_id} is {row['direction']}going and {row['status']}")
    desk.digits(ctx, "port_pin", port_pin, 6)
    records.active_line(ctx, row["line_id"])
    if ctx.one("SELECT 1 AS has FROM number_ports WHERE line_id = ? AND status = 'requested'", (row["line_id"],)):
        ctx.error("invalid_state", f"line {row['line_id']} already has an open port request")
    new_id = desk.add(ctx, "number_ports", row["line_id"], "in", row["carrier"], "requested", ctx.now)
    return {"ok": True, "port_id": new_id, "status": "requested"}


TOOLS: list[Tool] = [
    check_outage,
    run_line_test,
    replace_sim,
    get_port_status,
    list_port_requests,
    send_port_pin,
    request_port_out,
    resubmit_port_in,
]
