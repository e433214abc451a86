"""A corner shop's order desk: the small world that the rollout tests play in."""

from __future__ import annotations

from typing import Any, Literal

import apsw

from journeyman.task import (
    Call,
    CallPattern,
    ConsentRule,
    Criterion,
    EventPattern,
    ExpectedRow,
    Fact,
    FactCard,
    Happened,
    Match,
    Outcome,
    Say,
    Scenario,
    Split,
    Task,
)
from journeyman.world import Family, Lexicon, ProposalForm, Slot, ToolContext, World, task_id, tool

SCHEMA = """
CREATE TABLE customers (
    customer_id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, phone TEXT NOT NULL
) STRICT;
CREATE TABLE orders (
    order_id TEXT NOT NULL PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers (customer_id),
    total_cents INTEGER NOT NULL,
    status TEXT NOT NULL CONSTRAINT order_status CHECK (status IN ('open', 'cancelled'))
) STRICT;
CREATE TABLE tickets (
    ticket_id TEXT NOT NULL PRIMARY KEY, order_id TEXT NOT NULL, text TEXT NOT NULL
) STRICT;
"""


def build(db: apsw.Connection) -> None:
    for n in range(1, 7):
        db.execute("INSERT INTO customers VALUES (?, ?, ?)", (f"CU-{n:04d}", f"Ada Byron {n}", f"555-010{n}"))
        db.execute("INSERT INTO orders VALUES (?, ?, ?, 'open')", (f"OR-{n:04d}", f"CU-{n:04d}", 1000 + 125 * n))


@tool("read")
async def get_order(ctx: ToolContext, order_id: str) -> dict[str, Any]:
    """Show one order.

    Args:
        order_id: such as OR-0001.
    """
    row = ctx.one("SELECT * FROM orders WHERE order_id = ?", (order_id,))
    return row or ctx.error("not_found", f"there is no order {order_id}")


@tool("read")
async def list_orders(ctx: ToolContext, customer_id: str, limit: int = 5) -> list[dict[str, Any]]:
    """List a customer's orders.

    Args:
        customer_id: such as CU-0001.
        limit: most orders to return.
    """
    return ctx.all("SELECT * FROM orders WHERE customer_id = ? LIMIT ?", (customer_id, limit))


@tool("write")
async def cancel_order(ctx: ToolContext, order_id: str, reason: Literal["regret", "late"]) -> dict[str, Any]:
    """Cancel an open order.

    Args:
        order_id: such as OR-0001.
        reason: why the customer cancels.
    """
    if not ctx.run("UPDATE orders SET status = 'cancelled' WHERE order_id = ? AND status = 'open'", (order_id,)):
        ctx.error("not_open", f"order {order_id} is not open")
    return {"order_id": order_id, "status": "cancelled"}


@tool("write")
async def open_ticket(ctx: ToolContext, order_id: str, text: str) -> dict[str, Any]:
    """Open a ticket about an order.

    Args:
        order_id: such as OR-0001.
        text: what it is about.
    """
    ticket = ctx.next_id("tickets")
    ctx.run("INSERT INTO tickets VALUES (?, ?, ?)", (ticket, order_id, text))
    return {"ticket_id": ticket}


@tool("write")
async def transfer_to_human(ctx: ToolContext, reason: str) -> dict[str, Any]:
    """Hand the case to a person.

    Args:
        reason: why.
    """
    return {"transferred": True}


LEXICON = Lexicon(
    slots=[
        Slot("order_id", "id", cues=["order"], ask=["order number"], pattern=r"OR-\d{4}"),
        Slot("total", "money", cues=["total", "costs"]),
        Slot("ticket_id", "id", cues=["ticket"], pattern=r"TK-\d{4}"),
    ],
    proposals=[ProposalForm("cancel_order", verbs=["cancel"], slots={"order_id": "order_id"})],
)


def _task(world: World, family: str, level: int, seed: int, split: Split, **fields: Any) -> Task:
    return Task(
        id=task_id(world.name, family, split, seed),
        world=world.name,
        world_version=world.version,
        family=family,
        level=level,
        split=split,
        now="2026-03-02T09:00:00",
        image="base",
        **fields,
    )


def make_cancel(world: World, seed: int, split: Split) -> Task:
    """The customer wants an order cancelled and is told the ticket about it."""
    order = f"OR-{seed % 6 + 1:04d}"
    return _task(
        world,
        "cancel",
        2,
        seed,
        split,
        request=f"Please cancel an order ({seed}).",
        scenario=Scenario(
            persona="plain",
            openings=[f"Hello, please cancel an order for me ({seed})."],
            goal="have the order cancelled",
            facts=[FactCard("order_id", order, f"The order number is {order}.")],
            consents=[ConsentRule("cancel_order", {"order_id": order})],
            settles=[EventPattern("stated", by="agent", slot="ticket_id")],
        ),
        outcomes=[
            Outcome(
                rows=[
                    ExpectedRow("order", "orders", "update", {"order_id": order}, {"status": "cancelled"}),
                    ExpectedRow(
                        "ticket", "tickets", "insert", {}, {"order_id": order, "text": Match(contains="cancel")}
                    ),
                ],
                facts=[Fact("ticket_id", Match(ref="ticket.ticket_id"))],
            )
        ],
        criteria=[
            Criterion(
                "looked",
                "Looks at the order.",
                "must",
                required=True,
                predicate=Happened(CallPattern("get_order", {"order_id": order})),
            )
        ],
        oracle=[
            Say("What is the order number?"),
            Call("get_order", {"order_id": order}),
            Say(f"Shall I cancel the order {order}?"),
            Call("cancel_order", {"order_id": order, "reason": "regret"}),
            Call("open_ticket", {"order_id": order, "text": "cancelled on request"}),
            Say("It is done. Your ticket is ${ticket.ticket_id}."),
        ],
    )


def make_total(world: World, seed: int, split: Split) -> Task:
    """One request and no user: say what an order costs."""
    number = seed % 6 + 1
    total = (1000 + 125 * number) / 100
    return _task(
        world,
        "total",
        1,
        seed,
        split,
        request=f"What is the total of order OR-{number:04d} ({seed})?",
        outcomes=[Outcome(facts=[Fact("total", total)], end="final")],
        criteria=[],
        oracle=[Call("get_order", {"order_id": f"OR-{number:04d}"}), Say(f"The total is ${total:.2f}.")],
    )


def make_transfer(world: World, seed: int, split: Split) -> Task:
    """A case for a person, once the order was looked at and a ticket stands."""
    order = f"OR-{seed % 6 + 1:04d}"
    return _task(
        world,
        "transfer",
        1,
        seed,
        split,
        request=f"I want a person to look at order {order} ({seed}).",
        outcomes=[
            Outcome(
                rows=[ExpectedRow("ticket", "tickets", "insert", {}, {"order_id": order, "text": "asks for a person"})],
                end="transfer",
            )
        ],
        criteria=[],
        oracle=[
            Call("open_ticket", {"order_id": order, "text": "asks for a person"}),
            Call("transfer_to_human", {"reason": "asked for"}),
        ],
    )


WORLD = World(
    name="shop",
    company="Corner Shop",
    desk="You work the order desk of Corner Shop. Look at an order before you change it; ask before you cancel.",
    schema=SCHEMA,
    images={"base": build},
    tools=[get_order, list_orders, cancel_order, open_ticket, transfer_to_human],
    articles=[],
    families=[
        Family("cancel", 2, make_cancel, train=6, heldout=2),
        Family("total", 1, make_total, train=6),
        Family("transfer", 1, make_transfer, train=4),
    ],
    lexicon=LEXICON,
    id_formats={"tickets": "TK-{:04d}"},
)
