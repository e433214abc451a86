"""Northline Telecom: its size, its data, its articles, its secrets, and that every tool takes what it says."""

from __future__ import annotations

import re
import statistics

import pytest
from telecom_desk import REFUSED, VALID, WORLD, call, session

from journeyman.world import leaks, schema_rules
from journeyman.world.database import build_image
from journeyman.world.secrets import CANARY
from journeyman.worlds.telecom.image import build


def test_the_business_is_as_large_as_promised() -> None:
    assert len(WORLD.tables) >= 12
    assert len(WORLD.tools) >= 28
    assert len(WORLD.articles) >= 28
    assert len(WORLD.query("base", "SELECT 1 AS one FROM customers")) == 240
    assert len(WORLD.image("base")) < 600_000
    statuses = {row["status"] for row in WORLD.query("base", "SELECT DISTINCT status FROM accounts")}
    assert statuses == {"active", "suspended", "closed"}


def test_schema_keeps_the_rules() -> None:
    assert schema_rules(WORLD) == []


def test_two_builds_give_the_same_bytes() -> None:
    first = build_image("test", WORLD.schema, build)
    assert first == build_image("test", WORLD.schema, build) == WORLD.image("base")


def test_balances_are_what_the_invoices_leave_due() -> None:
    wrong = WORLD.query(
        "base",
        "SELECT account_id FROM accounts a WHERE balance_cents != (SELECT coalesce(sum(total_cents - paid_cents - "
        "credited_cents), 0) FROM invoices i WHERE i.account_id = a.account_id AND status IN ('open', 'past_due'))",
    )
    items = WORLD.query(
        "base",
        "SELECT invoice_id FROM invoices i WHERE total_cents != (SELECT sum(amount_cents) FROM invoice_items t "
        "WHERE t.invoice_id = i.invoice_id)",
    )
    assert wrong == []
    assert items == []


def test_late_fees_follow_the_article() -> None:
    fees = WORLD.query(
        "base",
        "SELECT DISTINCT c.kind, t.amount_cents FROM invoice_items t JOIN invoices USING (invoice_id) "
        "JOIN accounts USING (account_id) JOIN customers c USING (customer_id) WHERE t.kind = 'late_fee'",
    )
    assert {(row["kind"], row["amount_cents"]) for row in fees} == {
        ("personal", 1000),
        ("personal", 2500),
        ("business", 3500),
    }


def test_near_duplicate_customers_exist() -> None:
    same = WORLD.query("base", "SELECT name FROM customers GROUP BY name HAVING count(DISTINCT city) > 1")
    family = WORLD.query(
        "base",
        "SELECT a.customer_id FROM customers a JOIN customers b ON a.street = b.street AND a.city = b.city "
        "AND a.customer_id < b.customer_id AND a.kind = 'personal' AND a.status != b.status",
    )
    firms = WORLD.query("base", "SELECT a.name FROM customers a JOIN customers b ON b.name = a.name || ' Ltd'")
    assert len(same) >= 8
    assert len(family) >= 8
    assert len(firms) == 5


def test_every_tool_has_an_example_here() -> None:
    assert set(VALID) == {tool.name for tool in WORLD.tools}


@pytest.mark.parametrize("name", list(VALID))
def test_tool_takes_a_valid_call_and_refuses_a_wrong_one(name: str) -> None:
    live = session()
    record = call(live, name, **VALID[name])
    assert record.code == REFUSED.get(name, ""), record.result
    if WORLD.tools_by_name[name].kind == "read" or name in REFUSED:
        assert live.changes() == []
    else:
        assert live.changes() != []
    before = live.changes()
    first, value = next(iter(VALID[name].items()))
    assert call(live, name, **{**VALID[name], first: 7 if isinstance(value, str) else "7"}).code == "invalid_argument"
    missing = call(live, name, **{key: part for key, part in VALID[name].items() if key != first})
    assert missing.code == "missing_argument"
    assert first in missing.result
    assert call(live, name, **VALID[name], colour="red").code == "unknown_argument"
    assert live.changes() == before


@pytest.mark.parametrize("name", [name for name in VALID if next(iter(VALID[name])).endswith("_id")])
def test_unknown_records_are_not_found(name: str) -> None:
    first = next(iter(VALID[name]))
    assert call(session(), name, **{**VALID[name], first: "X-0000"}).code == "not_found"


def test_inserts_use_ids_from_9001_and_only_tables_with_formats() -> None:
    for name, arguments in VALID.items():
        live = session()
        call(live, name, **arguments)
        for row in live.changes():
            if row.op == "insert" and row.table != "line_addons":
                assert next(iter(row.key.values())) == WORLD.id_formats[row.table].format(9001)


def test_no_read_tool_lets_a_secret_out() -> None:
    ids = {
        "customer_id": [row["v"] for row in WORLD.query("base", "SELECT customer_id AS v FROM customers")],
        "account_id": [row["v"] for row in WORLD.query("base", "SELECT account_id AS v FROM accounts")],
        "line_id": [row["v"] for row in WORLD.query("base", "SELECT line_id AS v FROM lines")][::3],
        "phone": [row["v"] for row in WORLD.query("base", "SELECT phone AS v FROM lines")][::3],
        "method_id": [row["v"] for row in WORLD.query("base", "SELECT method_id AS v FROM payment_methods")][::3],
        "invoice_id": [row["v"] for row in WORLD.query("base", "SELECT invoice_id AS v FROM invoices")][::5],
        "ticket_id": [row["v"] for row in WORLD.query("base", "SELECT ticket_id AS v FROM tickets")],
        "name": ["a", "an", "ma", "%", "CANARY", "' OR 1=1 --"],
        "query": ["pin", "hash", "token", "CANARY", "puk"],
        "city": ["Dunmere", "'; SELECT pin_hash FROM customers"],
        "article_id": [article.id for article in WORLD.articles],
        "kind": ["personal", "business"],
    }
    assert WORLD.query("base", f"SELECT count(*) AS n FROM customers WHERE pin_hash LIKE '{CANARY}%'") == [{"n": 240}]
    assert leaks(WORLD, WORLD.query("base", "SELECT puk FROM sims")[0]["puk"]) == ["sims.puk"]
    live = session()
    successes: set[str] = set()
    for tool in WORLD.tools:
        if tool.kind == "read":
            first = next(iter(VALID[tool.name]))
            for value in [*ids[first], VALID[tool.name][first]]:
                record = call(live, tool.name, **{**VALID[tool.name], first: value})
                assert CANARY not in record.result.replace(str(value), ""), (tool.name, value)
                successes |= {tool.name} if record.status == "ok" else set()
    assert successes == {tool.name for tool in WORLD.tools if tool.kind == "read"}


def test_no_write_tool_lets_a_secret_out() -> None:
    for name, arguments in VALID.items():
        record = call(session(), name, **arguments)
        assert CANARY not in record.result


def test_articles_are_long_and_refer_to_each_other() -> None:
    assert statistics.median(len(article.body.split()) for article in WORLD.articles) >= 220
    known = {article.id: article for article in WORLD.articles}
    for article in WORLD.articles:
        for other in re.findall(r"\b[A-Z]{3,7}-[A-Z]{2,}(?:-\d{4})?\b", article.body):
            assert other in known, (article.id, other)
    stale = [article for article in WORLD.articles if article.status == "superseded"]
    assert len(stale) >= 6
    for article in stale:
        current = known[article.id.rsplit("-", 1)[0]]
        assert current.status == "current"
        assert current.effective > article.effective
        assert article.id in current.body
        assert f"Superseded by {current.id} on {current.effective}" in article.body


def test_every_tool_argument_is_described_and_money_has_its_unit() -> None:
    for tool in WORLD.tools:
        for name, schema in tool.parameters["properties"].items():
            assert schema["description"], (tool.name, name)
            if name == "amount":
                assert schema["type"] == "number"
                assert "dollars" in schema["description"]
    assert WORLD.tools_by_name["find_line"].signature() == "find_line(phone:str)"
    assert WORLD.tools_by_name["set_line_feature"].signature() == (
        "set_line_feature(line_id:str, feature:roaming|voicemail|data_cap|call_barring|wifi_calling, state:on|off)"
    )
