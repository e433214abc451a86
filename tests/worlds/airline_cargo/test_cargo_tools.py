"""What the cargo tools do and refuse, with figures worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from cargo_desk import (
    ACCEPTED,
    ARRIVED,
    DELIVERED,
    DESK_PIN,
    ISSUED,
    RELEASE_PIN,
    call,
    changed,
    desk_rows,
    insert,
    ok,
    session,
)
from msgspec.structs import replace

from journeyman.task import RowChange
from journeyman.worlds.airline_cargo.weights import chargeable_grams


def rows_with(table: str, key: str, **values: Any) -> list[RowChange]:
    """The desk's rows with other values in one of them."""
    return [
        replace(row, new={**row.new, **values}) if row.table == table and key in row.key.values() else row
        for row in desk_rows()
    ]


@pytest.mark.parametrize(
    ("weight", "volume", "divisor", "product", "chargeable"),
    [
        (940_000, 7_800, 6000, "general", 1_300_000),  # 7.8 cbm / 6000; 167 kg a cbm would give 1,302.6
        (940_000, 7_800, 5000, "general", 1_560_000),
        (1_300_200, 7_800, 6000, "general", 1_300_500),  # up to the next half kilogram
        (1_300_500, 7_800, 6000, "general", 1_300_500),
        (100_000, 601, 6000, "general", 100_500),  # 100.1666… kg by volume
        (100_000, 600, 6000, "general", 100_000),
        (100_000, 600, 6000, "live_animals", 150_000),
        (333_000, 1_000, 6000, "live_animals", 499_500),
        (1, 1, 6000, "general", 500),
    ],
)
def test_chargeable_weight(weight: int, volume: int, divisor: int, product: str, chargeable: int) -> None:
    assert chargeable_grams(weight, volume, divisor, product) == chargeable


def test_an_amendment_changes_exactly_what_is_given() -> None:
    live = session()
    before = ok(live, "get_waybill", awb=ISSUED)
    assert (before["weight_kg"], before["volume_cbm"], before["chargeable_kg"]) == (940.0, 6.3, 1050.0)
    assert ok(live, "get_contract", contract_id="CT-8001")["divisor"] == 6000
    assert ok(live, "find_cases", awb=ISSUED)[0]["case_id"] == "CS-8001"
    found = ok(live, "amend_waybill", awb=ISSUED, chargeable_kg=1300, volume_cbm=7.8)
    assert found["changed"] == ["chargeable_kg", "volume_cbm"]
    assert changed(live) == {("waybills", ISSUED): {"volume_l": 7_800, "chargeable_grams": 1_300_000}}


def test_an_amendment_is_not_checked_against_policy() -> None:
    live = session()
    ok(live, "amend_waybill", awb=ISSUED, chargeable_kg=1302.6)  # the careless figure
    ok(live, "amend_waybill", awb=ACCEPTED, pieces=9)
    assert changed(live)[("waybills", ISSUED)] == {"chargeable_grams": 1_302_600}
    assert call(live, "amend_waybill", awb=DELIVERED, pieces=9).code == "invalid_state"
    assert call(live, "amend_waybill", awb=ISSUED).code == "invalid_state"
    assert call(live, "amend_waybill", awb=ISSUED, pieces=0).code == "invalid_argument"
    assert call(live, "amend_waybill", awb=ISSUED, volume_cbm=-1.0).code == "invalid_argument"
    assert call(live, "amend_waybill", awb=ISSUED, weight_kg=1.2345).code == "invalid_argument"
    assert call(live, "amend_parties", awb=ISSUED, consignee_name=" ").code == "invalid_argument"
    ok(live, "amend_house_waybill", house_id="HW-8001", weight_kg=900)
    assert changed(live)[("house_waybills", "HW-8001")] == {"weight_grams": 900_000}


def test_a_mistyped_waybill_number_is_told_from_an_unknown_one() -> None:
    live = session()
    assert "check digit is wrong" in call(live, "find_waybill", awb="927-80010012").result
    unknown = call(live, "find_waybill", awb="927-80010055")
    assert unknown.code == "not_found"
    assert "check digit" not in unknown.result


def test_cut_off_in_both_clocks() -> None:
    live = session()
    # QRT is 240 minutes ahead of UTC; 180 minutes for general, 120 for pharma, before 16:00 there.
    found = ok(live, "check_cutoff", flight_id="FL-8002", product="general")
    assert found == {
        "cutoff_minutes": 180,
        "cutoff_local": "2026-05-13T13:00",
        "cutoff_utc": "2026-05-13T09:00",
        "now_utc": "2026-05-11T09:15",
    }
    assert ok(live, "check_cutoff", flight_id="FL-8002", product="pharma")["cutoff_local"] == "2026-05-13T14:00"
    late = session(rows_with("flights", "FL-8002", status="delayed", delay_minutes=180))
    assert ok(late, "check_cutoff", flight_id="FL-8002", product="general")["cutoff_utc"] == "2026-05-13T09:00"


def test_route_limits_and_flights() -> None:
    live = session()
    ways = ok(live, "get_route", origin="HVP", destination="SMD")
    assert [(way["via"], way["status"]) for way in ways] == [("QRT", "open")]
    assert [leg["leg"] for leg in ways[0]["legs"]] == ["HVP-QRT", "QRT-SMD"]
    assert ways[0]["legs"][1]["aircraft"] == ["A33P"]
    assert ok(live, "get_route", origin="cdn", destination="trs")[0]["status"] == "suspended"
    assert call(live, "get_route", origin="ZMB", destination="SVX").code == "not_found"
    limits = ok(live, "get_aircraft_limits", aircraft="a33p")
    assert (limits["max_piece_kg"], limits["max_height_cm"], limits["max_length_cm"]) == (3000.0, 160, 315)
    profile = ok(live, "get_station_profile", station="SMD")
    assert (profile["max_piece_kg"], profile["max_height_cm"], profile["transit_minutes"]) == (5000.0, 244, 240)
    assert (profile["amend_until"], profile["advance_filing"], profile["storage_per_kg_day"]) == (
        "acceptance",
        "yes",
        0.3,
    )
    assert "door_code" not in profile
    first = ok(live, "list_flights", origin="HVP", destination="QRT", date="2026-05-12")
    assert "FL-8001" in [flight["flight_id"] for flight in first]
    assert call(live, "list_flights", origin="HVP", destination="QRT", date="2026-13-01").code == "invalid_argument"
    assert ok(live, "get_flight", flight_id="FL-8001")["free_kg"] == 6000.0
    named = ok(live, "list_embargoes", station="SMD", commodity="machinery")
    assert "EM-8001" in [row["embargo_id"] for row in named]
    assert "EM-8001" not in [row["embargo_id"] for row in ok(live, "list_embargoes", station="SMD", commodity="dogs")]


def test_dangerous_goods_limits_by_packing_group() -> None:
    live = session()
    paint = {row["packing_group"]: row for row in ok(live, "get_dg_entry", un_number="un 1263")}
    assert (paint["II"]["passenger_limit"], paint["II"]["cargo_limit"]) == (5.0, 60.0)
    assert (paint["III"]["passenger_limit"], paint["III"]["cargo_limit"]) == (60.0, 220.0)
    battery = ok(live, "get_dg_entry", un_number="UN3480")[0]
    assert (battery["passenger_limit"], battery["cargo_limit"], battery["unit"]) == (None, 35.0, "kg")
    assert ok(live, "get_dg_entry", un_number="UN2814")[0]["passenger_limit"] == 0.05
    declared = ok(live, "get_dg_declaration", awb=ISSUED)[0]
    assert (declared["net"], declared["packages"], declared["status"]) == (5.0, 2, "submitted")
    ok(live, "reject_dg_declaration", declaration_id="DG-8001", reason="packages")
    assert call(live, "accept_dg_declaration", declaration_id="DG-8001").code == "invalid_state"
    assert changed(live) == {("dg_declarations", "DG-8001"): {"status": "rejected", "reject_reason": "packages"}}
    assert call(live, "get_dg_entry", un_number="UN9999").code == "not_found"


def test_booking_takes_room_and_checks_what_the_system_checks() -> None:
    live = session()
    base = {
        "client_id": "CL-8001",
        "product": "general",
        "commodity": "books",
        "pieces": 2,
        "weight_kg": 250,
        "volume_cbm": 1.5,
    }
    found = ok(live, "create_booking", **base, flight_id="FL-8001", onward_flight_id="FL-8002")
    assert found == {"ok": True, "booking_id": "BK-9001", "status": "confirmed"}
    row = changed(live)[("bookings", "BK-9001")]
    assert (row["origin"], row["destination"], row["weight_grams"], row["volume_l"]) == ("HVP", "SMD", 250_000, 1_500)
    assert changed(live)[("flights", "FL-8001")] == {"booked_grams": 4_250_000, "booked_l": 21_500}
    assert call(live, "create_booking", **base, flight_id="FL-8002", onward_flight_id="FL-8003").code == "invalid_state"
    assert call(live, "create_booking", **base, flight_id="FL-8003", onward_flight_id="FL-8002").code == "invalid_state"
    assert call(live, "create_booking", **base, flight_id="FL-8004").code == "no_capacity"
    assert call(live, "create_booking", **base, flight_id="FL-8005").code == "invalid_state"
    assert call(live, "create_booking", **{**base, "commodity": "gold"}, flight_id="FL-8001").code == "not_found"
    held = session(rows_with("credit_accounts", "CA-8001", status="held", hold_reason="past_due"))
    assert call(held, "create_booking", **base, flight_id="FL-8001").code == "inactive"
    assert held.changes() == []


def test_cancelling_gives_the_room_back_and_voids_the_waybill() -> None:
    live = session()
    ok(live, "cancel_booking", booking_id="BK-8001")
    rows = changed(live)
    assert rows[("flights", "FL-8001")] == {"booked_grams": 3_060_000, "booked_l": 13_700}  # less 940 kg, 6.3 cbm
    assert rows[("waybills", ISSUED)] == {"status": "void"}
    assert rows[("bookings", "BK-8001")] == {"status": "cancelled"}
    assert call(live, "cancel_booking", booking_id="BK-8001").code == "invalid_state"
    assert call(live, "cancel_booking", booking_id="BK-8002").code == "invalid_state"  # accepted at the station


def test_rebooking_and_offloading() -> None:
    live = session()
    assert call(live, "rebook_leg", booking_id="BK-8001", leg_no=1, flight_id="FL-8002").code == "invalid_state"
    assert call(live, "rebook_leg", booking_id="BK-8001", leg_no=1, flight_id="FL-8004").code == "no_capacity"
    assert call(live, "rebook_leg", booking_id="BK-8001", leg_no=3, flight_id="FL-8003").code == "not_found"
    assert ok(live, "offload_leg", booking_id="BK-8001", leg_no=1)["freed_kg"] == 940.0
    assert call(live, "offload_leg", booking_id="BK-8001", leg_no=1).code == "invalid_state"
    ok(live, "rebook_leg", booking_id="BK-8001", leg_no=1, flight_id="FL-8003")
    assert changed(live)[("booking_legs", "BK-8001")] == {"flight_id": "FL-8003"}
    assert changed(live)[("flights", "FL-8001")]["booked_grams"] == 3_060_000
    assert changed(live)[("flights", "FL-8003")]["booked_grams"] == 4_940_000
    ok(live, "set_booking_priority", booking_id="BK-8001", priority="must_ride")
    assert call(live, "offload_leg", booking_id="BK-8001", leg_no=1).code == "not_authorized"


def test_discounts_have_two_limits() -> None:
    live = session()
    assert call(live, "apply_discount", booking_id="BK-8001", percent=6).code == "not_authorized"
    assert call(live, "apply_discount", booking_id="BK-8001", percent=16).code == "invalid_argument"
    ok(live, "apply_discount", booking_id="BK-8001", percent=5)
    granted = insert(
        "approvals", approval_id="AP-8009", client_id="CL-8001", kind="discount", amount_cents=200_00,
        status="approved", requested_at="2026-05-08T10:00:00",
    )  # fmt: skip
    live = session([*desk_rows(), granted])
    # 15 % of the freight of 2,000.00 is 300.00: above the approval; 10 % is just it.
    assert (
        call(live, "apply_discount", booking_id="BK-8001", percent=15, approval_id="AP-8009").code == "not_authorized"
    )
    ok(live, "apply_discount", booking_id="BK-8001", percent=10, approval_id="AP-8009")
    assert changed(live)[("approvals", "AP-8009")] == {"status": "used"}
    bound = session(rows_with("bookings", "BK-8001", contract_id="CT-8001"))
    assert call(bound, "apply_discount", booking_id="BK-8001", percent=3).code == "not_eligible"


def test_credit_and_holds() -> None:
    live = session()
    assert ok(live, "check_credit", client_id="CL-8001", amount=6000) == {"result": "ok", "headroom": 6000.0}
    assert ok(live, "check_credit", client_id="CL-8001", amount=6000.01)["result"] == "over_limit"
    assert "bank_token" not in ok(live, "get_credit_account", client_id="CL-8001")
    assert call(live, "set_account_hold", account_id="CA-8001", state="off").code == "invalid_state"
    assert call(live, "set_account_hold", account_id="CA-8001", state="on").code == "invalid_argument"
    ok(live, "set_account_hold", account_id="CA-8001", state="on", reason="past_due")
    assert ok(live, "check_credit", client_id="CL-8001", amount=1)["result"] == "held"
    ok(live, "set_account_hold", account_id="CA-8001", state="off")  # nothing is past due
    held = rows_with("credit_accounts", "CA-8001", status="held", hold_reason="past_due")
    late = [replace(row, new={**row.new, "status": "past_due"}) if row.table == "invoices" else row for row in held]
    live = session(late)
    assert call(live, "set_account_hold", account_id="CA-8001", state="off").code == "not_authorized"
    assert (
        call(live, "set_account_hold", account_id="CA-8001", state="off", approval_id="AP-8003").code
        == "not_authorized"
    )
    fraud = session(rows_with("credit_accounts", "CA-8001", status="held", hold_reason="fraud_review"))
    assert call(fraud, "set_account_hold", account_id="CA-8001", state="off").code == "not_authorized"


def test_quotes_and_charges() -> None:
    live = session()
    tariff = ok(live, "get_tariff", origin="HVP", destination="QRT", product="general")
    # The timetable's 405 minutes: 60 + 405 // 3 = 195 cents a kg.
    assert tariff["per_kg"] == 1.95
    quote = ok(
        live,
        "quote_freight",
        origin="HVP",
        destination="QRT",
        product="general",
        chargeable_kg=1300,
        contract_id="CT-8001",
    )
    # 1,300 x 1.95 = 2,535.00, less 10 %; fuel 0.55 a kg.
    assert quote == {"freight": 2281.5, "fuel": 715.0, "discount_percent": 10}
    small = ok(live, "quote_freight", origin="HVP", destination="QRT", product="general", chargeable_kg=1)
    assert small["freight"] == tariff["minimum"] == 87.75
    assert ok(live, "add_charge", awb=ISSUED, kind="cancellation", amount=500.0) == {"ok": True, "charge_id": "CH-9001"}
    assert call(live, "add_charge", awb=ISSUED, kind="cancellation", amount=0.005).code == "invalid_argument"


def test_waivers_above_the_desks_limit_need_an_approval() -> None:
    live = session()
    assert call(live, "waive_charge", charge_id="CH-8002", amount=150.01).code == "not_authorized"
    assert call(live, "waive_charge", charge_id="CH-8002", amount=301).code == "invalid_argument"
    assert ok(live, "waive_charge", charge_id="CH-8002", amount=150.0) == {"ok": True, "status": "open", "left": 150.0}
    # A second slice of the same charge does not get round the limit.
    assert call(live, "waive_charge", charge_id="CH-8002", amount=1.0).code == "not_authorized"
    ok(live, "waive_charge", charge_id="CH-8002", amount=150.0, approval_id="AP-8001")
    assert changed(live)[("charges", "CH-8002")] == {
        "waived_cents": 300_00,
        "status": "waived",
        "approval_id": "AP-8001",
    }
    assert call(live, "waive_charge", charge_id="CH-8002", amount=1.0).code == "invalid_state"


def test_standard_storage() -> None:
    live = session()
    # Arrived on the 7th; Samundra has 1 free day and 0.30 a kg: to the 13th 5 days x 1,050 kg x 0.30.
    found = ok(live, "quote_storage", awb=ARRIVED, until="2026-05-13")
    assert (found["free_days"], found["charged_days"], found["amount"]) == (1, 5, 1575.0)
    assert ok(live, "quote_storage", awb=ARRIVED, until="2026-05-08")["amount"] == 0.0
    assert call(live, "quote_storage", awb=ARRIVED, until="2026-05-06").code == "invalid_argument"
    assert call(live, "quote_storage", awb=ISSUED, until="2026-05-13").code == "invalid_state"
    light = session(rows_with("waybills", ARRIVED, chargeable_grams=50_000))
    assert ok(light, "quote_storage", awb=ARRIVED, until="2026-05-09")["amount"] == 35.0  # 15.00 is below the minimum
    animals = session(rows_with("waybills", ARRIVED, product="live_animals"))
    assert ok(animals, "quote_storage", awb=ARRIVED, until="2026-05-08")["charged_days"] == 1


def test_claims_know_limits_of_money_and_no_cap() -> None:
    live = session()
    rate = ok(live, "get_liability_rate", date="2026-05-04")["dollars_per_unit"]
    assert rate == 1.34
    cap = round(22 * rate * ok(live, "get_claim", claim_id="CLM-8001")["weight_kg"], 2)
    assert cap == 3537.60  # 22 x 1.34 x 120
    assert ok(live, "get_liability_rate", date="2025-12-31")["dollars_per_unit"] == 1.31
    assert call(live, "get_liability_rate", date="2023-01-01").code == "not_found"
    assert call(live, "settle_claim", claim_id="CLM-8001", amount=500.01).code == "not_authorized"
    assert call(live, "settle_claim", claim_id="CLM-8001", amount=4000).code == "invalid_argument"
    assert call(live, "settle_claim", claim_id="CLM-8001", amount=900, approval_id="AP-8001").code == "not_authorized"
    ok(live, "settle_claim", claim_id="CLM-8001", amount=3900, approval_id="AP-8002")  # above the cap: the desk's fault
    row = changed(live)[("claims", "CLM-8001")]
    assert row == {"status": "settled", "settled_cents": 3_900_00, "approval_id": "AP-8002"}
    assert call(live, "reject_claim", claim_id="CLM-8001", reason="excluded").code == "invalid_state"
    assert call(live, "open_claim", awb=ISSUED, kind="loss", weight_kg=1, amount=1).code == "invalid_state"
    assert call(live, "open_claim", awb=DELIVERED, kind="damage", weight_kg=941, amount=1).code == "invalid_argument"


def test_release_needs_pin_arrival_no_hold_and_paid_storage() -> None:
    receiver = {"receiver_name": "Amber Trading", "release_pin": RELEASE_PIN}
    live = session()
    assert ok(live, "verify_consignee", awb=ARRIVED, release_pin=RELEASE_PIN) == {"verified": True}
    assert ok(live, "verify_consignee", awb=ARRIVED, release_pin="246811") == {"verified": False}
    assert call(live, "verify_consignee", awb=ARRIVED, release_pin="12345").code == "invalid_argument"
    assert call(live, "release_shipment", awb=ARRIVED, receiver_name="A", release_pin="246811").code == "declined"
    assert call(live, "release_shipment", awb=ACCEPTED, **receiver).code == "invalid_state"
    ok(live, "hold_shipment", awb=ARRIVED, reason="customs")
    assert call(live, "release_shipment", awb=ARRIVED, **receiver).code == "invalid_state"
    assert call(live, "lift_hold", awb=ARRIVED).code == "not_authorized"
    unpaid = insert(
        "charges",
        charge_id="CH-8009",
        awb=ARRIVED,
        kind="storage",
        amount_cents=100,
        waived_cents=0,
        status="open",
        charged_on="2026-05-08",
    )
    assert call(session([*desk_rows(), unpaid]), "release_shipment", awb=ARRIVED, **receiver).code == "unpaid"
    live = session()
    ok(live, "release_shipment", awb=ARRIVED, **receiver)
    assert changed(live)[("waybills", ARRIVED)] == {
        "status": "delivered",
        "delivered_on": "2026-05-11",
        "released_to": "Amber Trading",
    }


def test_identity_cases_denials_and_messages() -> None:
    live = session()
    assert ok(live, "verify_client", client_id="CL-8001", pin=DESK_PIN) == {"verified": True}
    assert ok(live, "verify_client", client_id="CL-8001", pin="1358") == {"verified": False}
    assert call(live, "verify_client", client_id="CL-8001", pin="135").code == "invalid_argument"
    ok(live, "close_case", case_id="CS-8001", resolution="done")
    assert call(live, "close_case", case_id="CS-8001", resolution="done").code == "invalid_state"
    assert call(live, "add_case_note", case_id="CS-8001", note="n").code == "invalid_state"
    other = call(live, "create_case", client_id="CL-1001", kind="other", summary="s", awb=ISSUED)
    assert other.code == "invalid_state"
    denial = {"client_id": "CL-8001", "request": "amendment", "reason": "too_late"}
    assert call(live, "document_denial", **denial, article_id="TRK-STATUS-2024").code == "invalid_state"
    assert call(live, "document_denial", **denial, article_id="NO-SUCH").code == "not_found"
    assert (
        call(live, "send_chat_message", client_id="CL-8001", template="notice", body="x" * 601).code
        == "invalid_argument"
    )
    assert call(live, "send_email", client_id="CL-8001", template="notice", body=" ").code == "invalid_argument"
    ok(live, "send_chat_message", client_id="CL-8001", template="confirmation", body="1,300 kg")
    assert changed(live)[("messages", "MSG-9001")]["channel"] == "chat"
    assert (
        call(live, "report_irregularity", awb=ARRIVED, station="SMD", kind="missing", pieces=5).code
        == "invalid_argument"
    )
    assert ok(live, "set_handling_code", awb=ISSUED, code="DGR", state="on")["ok"]
    assert call(live, "set_handling_code", awb=ISSUED, code="DGR", state="on").code == "invalid_state"
