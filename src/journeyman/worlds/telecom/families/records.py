"""Which records a task is about, and the setup rows that put them into the state it needs.

Customers are dealt to the splits by a hash of their name, so that no two splits share a person. Within a split a
household may appear in several tasks, each time in another state.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import msgspec

from journeyman.codec import seed_of
from journeyman.task import Split
from journeyman.world import World, setup

# Shares of the customers, in tenths: the held-out family needs fewest.
_TENTHS: dict[Split, range] = {"train": range(6), "heldout": range(6, 9), "heldout_family": range(9, 10)}


@dataclass(frozen=True)
class Household:
    """An active line with its account and owner."""

    customer_id: str
    name: str
    kind: str
    email: str
    city: str
    account_id: str
    line_id: str
    phone: str
    plan_id: str


def split_of(name: str) -> Split:
    """The split whose tasks may speak of a customer of this name."""
    tenth = seed_of("telecom", "split", name) % 10
    return next(split for split, tenths in _TENTHS.items() if tenth in tenths)


@functools.lru_cache(maxsize=16)
def households(world: World, split: Split, kind: str | None = None) -> tuple[Household, ...]:
    """Every active line of an active account in the split, by line id; those of one kind of customer if `kind`."""
    rows = world.query(
        "base",
        """SELECT customer_id, name, kind, email, city, account_id, line_id, lines.phone AS phone, plan_id
           FROM lines JOIN accounts USING (account_id) JOIN customers USING (customer_id)
           WHERE lines.status = 'active' AND accounts.status = 'active' AND customers.status = 'active'
           ORDER BY line_id""",
        (),
    )
    found = [msgspec.convert(row, Household) for row in rows]
    return tuple(one for one in found if split_of(one.name) == split and kind in (None, one.kind))


def pick(world: World, family: str, seed: int, split: Split, kind: str | None = None) -> Household:
    """The household of a task: the families start at different places and walk through the split in line order."""
    pool = households(world, split, kind)
    return pool[(seed_of("telecom", family, split) + seed) % len(pool)]


def neighbour(world: World, home: Household, split: Split) -> Household:
    """An active line that a careless clerk may take for the household's: another of its account, or the nearest number."""
    pool = [one for one in households(world, split) if one.line_id != home.line_id]
    return min(
        pool, key=lambda one: (one.account_id != home.account_id, abs(_digits(one) - _digits(home)), one.line_id)
    )


def stranger(world: World, home: Household, split: Split) -> Household:
    """The household of the nearest number on another customer's account: nothing of it may be touched."""
    pool = [one for one in households(world, split) if one.customer_id != home.customer_id]
    return min(pool, key=lambda one: (abs(_digits(one) - _digits(home)), one.line_id))


def _digits(home: Household) -> int:
    return int("".join(letter for letter in home.phone if letter.isdigit()))


class Setup(setup.Setup):
    """Setup rows of a telecom task."""

    def settle_invoices(self, account_id: str) -> None:
        """Pay every open invoice of an account, and bring its balance to zero."""
        open_ones = self.world.query(
            "base",
            "SELECT * FROM invoices WHERE account_id = ? AND status IN ('open', 'past_due') ORDER BY invoice_id",
            (account_id,),
        )
        for invoice in open_ones:
            paid = invoice["total_cents"] - invoice["credited_cents"]
            self.update("invoices", {"invoice_id": invoice["invoice_id"]}, paid_cents=paid, status="paid")
        self.update("accounts", {"account_id": account_id}, balance_cents=0)

    def close_stale_tickets(self, account_id: str) -> None:
        """Close open tickets that are older than 180 days: policy would have the clerk ask about each of them."""
        self._close_tickets("account_id = ? AND status != 'closed' AND opened_at < '2025-09-03'", account_id)

    def close_open_tickets(self, account_id: str) -> None:
        """Close every open ticket: whoever says that they called before has a ticket of the same topic noted, not doubled."""
        self._close_tickets("account_id = ? AND status != 'closed'", account_id)

    def _close_tickets(self, where: str, account_id: str) -> None:
        closed = {"status": "closed", "resolution": "no_fault", "closed_at": "2026-02-02T10:00:00"}
        self.update_all("tickets", where, (account_id,), **closed)

    def owe(self, account_id: str, invoice_id: str, period: str, cents: int, *, past_due: bool, **dates: str) -> None:
        """Add an unpaid invoice and raise the account's balance by it. `dates`: `issued_on`, `due_on`."""
        self.insert(
            "invoices",
            {"invoice_id": invoice_id},
            account_id=account_id,
            period=period,
            total_cents=cents,
            paid_cents=0,
            credited_cents=0,
            status="past_due" if past_due else "open",
            **dates,
        )
        balance = self.row("accounts", account_id=account_id)["balance_cents"]
        self.update("accounts", {"account_id": account_id}, balance_cents=balance + cents)
