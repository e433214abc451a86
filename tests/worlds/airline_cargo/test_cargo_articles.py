"""The policy articles of the cargo world: length, references, versions, words of the tools, figures, and that search finds them."""

from __future__ import annotations

import json
import re
import statistics
from collections import defaultdict
from typing import Any

import pytest
from cargo_desk import VALID, WORLD, call, session

from journeyman.worlds.airline_cargo import catalogue, records
from journeyman.worlds.airline_cargo.weights import chargeable_grams

ARTICLES = {article.id: article for article in WORLD.articles}
CURRENT = [article for article in WORLD.articles if article.status == "current"]
SUPERSEDED = [article for article in WORLD.articles if article.status == "superseded"]
CITED = re.compile(r"\b[A-Z]{3,7}-[A-Z]{2,}(?:-\d{4})?\b")
WORD = re.compile(r"\b[a-z]+(?:_[a-z0-9]+)+\b")
HANGING = [
    *("WGT-CHARGE", "AWB-AMEND", "CTR-CHOOSE", "ROUTE-RULES", "CUT-TIMES", "DGR-LIMITS", "DGR-ACCEPT", "EMB-RULES"),
    *("CRD-LIMIT", "CRD-HOLD", "STO-CHARGE", "STO-WAIVE", "CLM-NOTICE", "CLM-LIABILITY", "CLM-SETTLE", "CAN-FEES"),
    *("CAN-NOSHOW", "TMP-CONTROL", "PER-GOODS", "REL-CONSIGNEE", "OFF-REBOOK", "APR-LIMITS", "PRC-QUOTE", "TRK-STATUS"),
]
"""Rules on which tasks hang: each has a version that no longer holds."""


def test_there_are_enough_articles_and_they_are_long() -> None:
    assert len(CURRENT) >= 45
    lengths = {article.id: len(article.body.split()) for article in WORLD.articles}
    assert min(lengths.values()) >= 250
    assert max(lengths.values()) <= 450
    assert statistics.median(lengths.values()) >= 300


def test_every_cited_article_exists_and_every_current_one_is_cited() -> None:
    cited = {article.id: set(CITED.findall(article.body)) - {article.id} for article in WORLD.articles}
    for name, others in cited.items():
        assert others <= set(ARTICLES), (name, others - set(ARTICLES))
    by_others = set().union(*(others for name, others in cited.items() if name in {one.id for one in CURRENT}))
    assert {article.id for article in CURRENT} <= by_others


def test_each_superseded_article_is_older_than_its_successor_and_named_by_it() -> None:
    for article in SUPERSEDED:
        current = ARTICLES[article.id.rsplit("-", 1)[0]]
        assert current.status == "current"
        assert article.effective[:4] == article.id[-4:]
        assert article.effective < current.effective <= catalogue.AS_OF
        assert article.id in current.body
        assert article.body.startswith(f"Superseded by {current.id} on {current.effective}.")
    assert {article.id.rsplit("-", 1)[0] for article in SUPERSEDED} == set(HANGING)


def _words(value: Any) -> set[str]:
    """Keys and texts of a result, at any depth."""
    if isinstance(value, dict):
        return set(value).union(*map(_words, value.values()))
    if isinstance(value, list):
        return set().union(*map(_words, value))
    return {value} if isinstance(value, str) else set()


def _result(tool: str, **arguments: Any) -> Any:
    return json.loads(call(session(), tool, **arguments).result)


def test_every_word_of_the_system_in_an_article_exists() -> None:
    """A word with an underscore is a tool, an argument or one of its values, a column or its value, or a key of a result."""
    known = {tool.name for tool in WORLD.tools} | set(WORD.findall(WORLD.schema))
    for tool in WORLD.tools:
        known |= set(WORD.findall(json.dumps(tool.parameters)))
        if tool.kind == "read":
            known |= _words(_result(tool.name, **VALID[tool.name]))
    known |= {row[0] for row in catalogue.COMMODITIES}
    without = "SELECT client_id FROM clients WHERE client_id NOT IN (SELECT client_id FROM credit_accounts)"
    known |= _words(_result("check_credit", client_id=WORLD.query("base", without)[0]["client_id"], amount=1.0))
    for article in WORLD.articles:
        assert set(WORD.findall(article.body)) <= known, (article.id, set(WORD.findall(article.body)) - known)


def test_a_word_that_looks_like_a_tool_is_one() -> None:
    verbs = {tool.name.partition("_")[0] for tool in WORLD.tools}
    columns = {column for table in WORLD.tables.values() for column in table.columns}
    others = columns.union(*(tool.parameters["properties"] for tool in WORLD.tools))
    named = defaultdict(set)
    for article in WORLD.articles:
        for word in WORD.findall(article.body):
            if word.partition("_")[0] in verbs and word not in others:
                named[word].add(article.id)
    tools = {tool.name for tool in WORLD.tools}
    assert set(named) <= tools, set(named) - tools
    assert {tool.name for tool in WORLD.tools if tool.kind == "write"} <= set(named)


def test_no_two_articles_share_a_sentence() -> None:
    seen: dict[str, str] = {}
    for article in WORLD.articles:
        for sentence in re.split(r"(?<=[.:;])\s+", article.body):
            if len(sentence.split()) >= 9:
                assert seen.setdefault(sentence, article.id) == article.id, sentence


def test_the_articles_have_the_limits_of_the_tools() -> None:
    limits = ARTICLES["APR-LIMITS"].body
    for cents in (records.WAIVER_LIMIT_CENTS, records.CLAIM_LIMIT_CENTS):
        assert f"${cents / 100:.2f}" in limits
    for percent in (records.DISCOUNT_LIMIT_PERCENT, records.DISCOUNT_MOST_PERCENT):
        assert f"{percent} %" in limits
        assert f"{percent} %" in ARTICLES["DSC-RATES"].body
    rates = {name: cents for name, _, until, _, cents in catalogue.SURCHARGES if until is None}
    for cents in rates.values():
        assert f"${cents / 100:.2f}" in ARTICLES["PRC-QUOTE"].body
    assert f"${rates['dg_fee'] / 100:.2f}" in ARTICLES["DGR-ACCEPT"].body
    for _, _, cents in catalogue.LIABILITY_RATES:
        assert f"${cents / 100:.2f}" in ARTICLES["CLM-LIABILITY"].body
    order = WORLD.tools_by_name["reject_dg_declaration"].parameters["properties"]["reason"]["enum"]
    assert ", ".join(order) in ARTICLES["DGR-DECLARE"].body
    reasons = WORLD.tools_by_name["document_denial"].parameters["properties"]["reason"]["enum"]
    assert all(f"{reason}:" in ARTICLES["DEN-DOC"].body for reason in reasons)
    kinds = WORLD.tools_by_name["create_case"].parameters["properties"]["kind"]["enum"]
    assert all(f"- {kind}:" in ARTICLES["CAS-KINDS"].body for kind in kinds)
    queues = WORLD.tools_by_name["transfer_to_human"].parameters["properties"]["queue"]["enum"]
    assert all(f"- {queue}:" in ARTICLES["ESC-QUEUES"].body for queue in queues)
    codes = WORLD.tools_by_name["set_handling_code"].parameters["properties"]["code"]["enum"]
    assert all(re.search(rf"\b{code}\b", ARTICLES["HAN-CODES"].body) for code in codes)


def test_the_examples_in_the_articles_are_right() -> None:
    weight, cap, quote = (ARTICLES[name].body for name in ("WGT-CHARGE", "CLM-LIABILITY", "PRC-QUOTE"))
    volume = 6 * 130 * 100 * 100 // 1000
    assert volume == 7_800
    for divisor in (6000, 5000):
        assert f"{chargeable_grams(900_000, volume, divisor) / 1000:,.1f} kg" in weight
    assert f"${22 * 134 * 120 / 100:,.2f}" in cap
    total = 1300 * 250 * 92 // 100 + 1300 * 55 + 900 * 15 + 18_00
    assert f"${total / 100:,.2f}" in quote
    # 22 units at $1.34 for 120 kg are free; 0.75 % of what is above, half a cent up.
    above = 50_000_00 - 22 * 134 * 120
    assert f"${(above * 75 + 5_000) // 10_000 / 100:,.2f}" in ARTICLES["VAL-DECLARED"].body
    storage = (11 - 6 - 2) * 500 * 28
    assert f"${storage / 100:,.2f}" in ARTICLES["STO-CHARGE"].body
    assert f"927-4001015{4001015 % 7}" in ARTICLES["CLT-LOOKALIKE"].body


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("amend a waybill with revised dimensions", "AWB-AMEND"),
        ("how is chargeable weight calculated from volume", "WGT-CHARGE"),
        ("latest time to tender cargo before departure", "CUT-TIMES"),
        ("accept a dangerous goods declaration", "DGR-DECLARE"),
        ("how many days after delivery can damage be claimed", "CLM-NOTICE"),
        ("waive storage because of a late notice", "STO-WAIVE"),
        ("credit account on hold, part payment", "CRD-HOLD"),
        ("embargo at the destination station", "EMB-RULES"),
        ("receiver does not have the release PIN", "REL-CONSIGNEE"),
        ("fee to cancel a booking 30 hours before the flight", "CAN-FEES"),
        ("rebook to an earlier flight", "OFF-REBOOK"),
        ("the goods never came, no-show fee", "CAN-NOSHOW"),
    ],
)
def test_search_finds_the_current_article_among_the_first_three(query: str, wanted: str) -> None:
    found = json.loads(call(session(), "search_policy", query=query).result)
    assert len(found) == 3
    assert (wanted, "current") in [(row["article_id"], row["status"]) for row in found]
