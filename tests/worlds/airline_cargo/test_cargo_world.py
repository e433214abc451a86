"""The cargo world whole: schema, image, tools against right and wrong arguments, secrets."""

from __future__ import annotations

import pytest
from cargo_desk import REFUSED, VALID, WORLD, call, session

from journeyman.world.database import build_image
from journeyman.world.rules import leaks, schema_rules
from journeyman.world.secrets import CANARY
from journeyman.worlds.airline_cargo.weights import chargeable_grams


def rows(sql: str) -> list[dict[str, object]]:
    return WORLD.query("base", sql)


def test_schema_rules_hold() -> None:
    assert schema_rules(WORLD) == []
    assert len(WORLD.tables) == 35
    assert len(WORLD.tools) == 82


def test_the_image_is_the_same_each_time_and_small() -> None:
    again = build_image("test", WORLD.schema, WORLD.builders["base"])
    assert again == WORLD.image("base")
    # The telecom image is the yardstick: a session copies it whole.
    assert len(again) <= 540_000


def test_the_image_keeps_its_own_arithmetic() -> None:
    for row in WORLD.query(
        "base",
        "SELECT w.*, coalesce(c.divisor, 6000) AS divisor FROM waybills w LEFT JOIN contracts c USING (contract_id)",
    ):
        wanted = chargeable_grams(row["weight_grams"], row["volume_l"], row["divisor"], row["product"])
        assert row["chargeable_grams"] == wanted, row["awb"]
        prefix, _, number = row["awb"].partition("-")
        assert (prefix, int(number[:7]) % 7) == ("927", int(number[7]))
    unequal = rows(
        "SELECT w.awb FROM waybills w JOIN house_waybills h USING (awb) GROUP BY w.awb "
        "HAVING sum(h.pieces) != w.pieces OR sum(h.weight_grams) != w.weight_grams"
    )
    assert unequal == []
    owed = rows(
        "SELECT account_id FROM credit_accounts a WHERE balance_cents != "
        "(SELECT coalesce(sum(total_cents - paid_cents), 0) FROM invoices i WHERE i.account_id = a.account_id)"
    )
    assert owed == []


def test_no_piece_of_the_image_is_beyond_the_aircraft_it_is_booked_on() -> None:
    beyond = rows(
        "SELECT p.awb FROM waybill_pieces p JOIN waybills w USING (awb) JOIN booking_legs l USING (booking_id) "
        "JOIN flights f USING (flight_id) JOIN aircraft_types a USING (aircraft) WHERE p.piece_grams > a.max_piece_grams "
        "OR p.height_cm > a.max_height_cm OR max(p.length_cm, p.width_cm) > a.max_length_cm"
    )
    assert beyond == []


def test_legs_connect_in_place_and_time() -> None:
    broken = rows(
        "SELECT a.booking_id FROM booking_legs a JOIN booking_legs b ON b.booking_id = a.booking_id AND b.leg_no = 2 "
        "JOIN flights x ON x.flight_id = a.flight_id JOIN flights y ON y.flight_id = b.flight_id "
        "WHERE a.leg_no = 1 AND (x.destination != y.origin OR x.arrives_at > y.departs_at)"
    )
    assert broken == []
    # 480 minutes by the timetable; Newhallow's clock is 300 minutes behind UTC.
    flight = rows("SELECT * FROM flights WHERE origin = 'NHW' AND aircraft = 'B77F' ORDER BY flight_id LIMIT 1")[0]
    assert str(flight["departs_local"]) < str(flight["departs_at"])


def test_the_image_has_look_alikes_and_stale_records() -> None:
    same = rows("SELECT name FROM clients GROUP BY name HAVING count(DISTINCT city) > 1")
    groups = rows("SELECT a.name FROM clients a JOIN clients b ON b.name = a.name || ' Group'")
    old = rows("SELECT a.name FROM clients a JOIN clients b ON b.name = a.name || ' Ltd' AND b.status = 'inactive'")
    assert (len(same), len(old)) == (8, 8)
    assert len(groups) >= 16
    numbers = [str(row["awb"])[4:11] for row in rows("SELECT awb FROM waybills")]
    twins = [n for n in numbers if n[:4] + n[5] + n[4] + n[6] in numbers and n[4] != n[5]]
    assert len(twins) >= 40
    stale = rows("SELECT case_id FROM cases WHERE status = 'open' AND opened_at < '2025-11-12'")
    both = rows("SELECT client_id FROM contracts GROUP BY client_id HAVING count(DISTINCT divisor) = 2")
    assert len(stale) >= 1
    assert len(both) >= 20


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
    assert call(live, name, **VALID[name], colour="red").code == "unknown_argument"
    if not VALID[name]:
        return
    before = live.changes()
    first, value = next(iter(VALID[name].items()))
    assert call(live, name, **{**VALID[name], first: 7 if isinstance(value, str) else "7"}).code == "invalid_argument"
    if first in WORLD.tools_by_name[name].required:
        missing = call(live, name, **{key: part for key, part in VALID[name].items() if key != first})
        assert missing.code == "missing_argument"
        assert first in missing.result
    assert live.changes() == before


KEYED = ("_id", "awb", "station", "aircraft", "un_number", "origin")


@pytest.mark.parametrize("name", [name for name in VALID if next(iter(VALID[name]), "").endswith(KEYED)])
def test_unknown_records_are_not_found(name: str) -> None:
    first = next(iter(VALID[name]))
    assert call(session(), name, **{**VALID[name], first: "X-0000"}).code == "not_found"


def test_inserts_use_ids_from_9001_and_only_tables_with_formats() -> None:
    composite = {"booking_legs", "waybill_handling"}
    for name, arguments in VALID.items():
        live = session()
        call(live, name, **arguments)
        for row in live.changes():
            if row.op == "insert" and row.table not in composite:
                assert next(iter(row.key.values())) == WORLD.id_formats[row.table].format(9001)


def test_no_read_tool_lets_a_secret_out() -> None:
    def column(sql: str) -> list[object]:
        return [row["v"] for row in rows(sql)]

    bills = column("SELECT awb AS v FROM waybills")
    ids: dict[str, list[object]] = {
        "client_id": column("SELECT client_id AS v FROM clients"),
        "contract_id": column("SELECT contract_id AS v FROM contracts"),
        "booking_id": column("SELECT booking_id AS v FROM bookings")[::2],
        "flight_id": column("SELECT flight_id AS v FROM flights")[::3],
        "awb": bills[::2],
        "station": column("SELECT station AS v FROM stations"),
        "origin": ["HVP", "NHW", "'; SELECT door_code FROM stations"],
        "aircraft": column("SELECT aircraft AS v FROM aircraft_types"),
        "embargo_id": column("SELECT embargo_id AS v FROM embargoes"),
        "un_number": column("SELECT DISTINCT un_number AS v FROM dg_entries"),
        "claim_id": column("SELECT claim_id AS v FROM claims"),
        "case_id": column("SELECT case_id AS v FROM cases"),
        "country": ["Norland", "'; SELECT door_code FROM stations"],
        "date": ["2026-05-11", "2025-05-11"],
        "name": ["ing", "log", "%%%", "CANARY", "' OR 1=1 --"],
        "query": ["pin", "hash", "token", "CANARY", "door code"],
        "article_id": [article.id for article in WORLD.articles],
    }
    assert all(str(v).startswith(CANARY) for v in column("SELECT release_pin_hash AS v FROM waybills"))
    assert all(str(v).startswith(CANARY) for v in column("SELECT door_code AS v FROM stations"))
    assert leaks(WORLD, str(column("SELECT bank_token AS v FROM credit_accounts")[0])) == ["credit_accounts.bank_token"]
    live = session()
    successes: set[str] = set()
    for tool in WORLD.tools:
        if tool.kind == "read":
            first = next(iter(VALID[tool.name]), None)
            values = [*ids[first], VALID[tool.name][first]] if first else [None]
            for value in values:
                arguments = {**VALID[tool.name], first: value} if first else {}
                record = call(live, tool.name, **arguments)
                assert CANARY not in record.result.replace(str(value), ""), (tool.name, value)
                successes |= {tool.name} if record.status == "ok" else set()
    assert successes == {tool.name for tool in WORLD.tools if tool.kind == "read"}


def test_no_write_tool_lets_a_secret_out() -> None:
    for name, arguments in VALID.items():
        record = call(session(), name, **arguments)
        assert CANARY not in record.result


def test_arguments_are_described_and_quantities_have_their_unit() -> None:
    units = {"amount": "dollars", "weight_kg": "kg", "volume_cbm": "cbm", "chargeable_kg": "kg"}
    for tool in WORLD.tools:
        for name, schema in tool.parameters["properties"].items():
            assert schema["description"], (tool.name, name)
            if name in units:
                assert units[name] in schema["description"], (tool.name, name)
    assert WORLD.tools_by_name["amend_waybill"].signature() == (
        "amend_waybill(awb:str, pieces?:int, weight_kg?:float, volume_cbm?:float, chargeable_kg?:float, goods?:str)"
    )
