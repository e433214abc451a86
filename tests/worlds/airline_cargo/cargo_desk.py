"""A cargo client with one of everything, a session on it, and a valid call for every tool."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from journeyman.episode import CallRecord
from journeyman.task import Outcome, RowChange, Task
from journeyman.world import WorldSession, open_session
from journeyman.worlds import load_world
from journeyman.worlds.airline_cargo.secrets import hashed

WORLD = load_world("airline_cargo")
ISSUED, ACCEPTED, ARRIVED, DELIVERED = "927-80010011", "927-80010022", "927-80010033", "927-80010044"
"""The serials 8001001 to 8001004, each with its remainder by 7."""
RELEASE_PIN, DESK_PIN = "246810", "1357"


def insert(table: str, **values: Any) -> RowChange:
    return RowChange(table, "insert", {key: values[key] for key in WORLD.tables[table].key}, new=values)


def _flight(
    flight_id: str, origin: str, destination: str, aircraft: str, local: str, departs: str, arrives: str, **more: Any
) -> RowChange:
    values: dict[str, Any] = {
        "capacity_grams": 10_000_000,
        "booked_grams": 4_000_000,
        "capacity_l": 60_000,
        "booked_l": 20_000,
    }
    values |= {"status": "scheduled", "delay_minutes": 0, **more}
    return insert("flights", flight_id=flight_id, number="MR9", origin=origin, destination=destination, aircraft=aircraft,
                  departs_local=local, departs_at=departs, arrives_at=arrives, **values)  # fmt: skip


def _bill(number: int, awb: str, status: str, **more: Any) -> list[RowChange]:
    """A booking from HVP over QRT to SMD, 940 kg and 6.3 cbm in 4 pieces, and its waybill with one tracking event."""
    goods: dict[str, Any] = {"pieces": 4, "weight_grams": 940_000, "volume_l": 6_300}
    trade: dict[str, Any] = {
        "client_id": "CL-8001",
        "product": "general",
        "commodity": "machinery",
        "origin": "HVP",
        "destination": "SMD",
    }
    booked: dict[str, Any] = {
        **trade,
        **goods,
        "status": "confirmed",
        "priority": "standard",
        "booked_at": "2026-05-01T10:00:00",
    }
    values: dict[str, Any] = {
        "contract_id": "CT-8001",
        "kind": "direct",
        "shipper_name": "Test Works",
        "consignee_name": "Amber Trading",
    }
    values |= {
        "goods": "Machine parts",
        "temp_range": "none",
        "chargeable_grams": 1_050_000,
        "hold": "none",
        "status": status,
    }
    values |= {"issued_on": "2026-05-06", "release_pin_hash": hashed(awb, RELEASE_PIN), **more}
    booking = f"BK-{number}"
    return [
        insert("bookings", booking_id=booking, discount_percent=0, **booked),
        insert("booking_legs", booking_id=booking, leg_no=1, flight_id="FL-8001", status="booked"),
        insert("booking_legs", booking_id=booking, leg_no=2, flight_id="FL-8002", status="booked"),
        insert("waybills", awb=awb, booking_id=booking, **trade, **goods, **values),
        insert("waybill_pieces", awb=awb, line_no=1, pieces=4, length_cm=120, width_cm=100, height_cm=131, piece_grams=235_000),
        insert("tracking_events", awb=awb, event_no=1, code="BKD", station="HVP", pieces=4, happened_at="2026-05-06T10:00:00"),
    ]  # fmt: skip


def desk_rows() -> list[RowChange]:
    """One client with one of everything. Flight FL-8003 is another to QRT, FL-8004 has room for 100 kg, FL-8005 has left."""
    charge = {"waived_cents": 0, "status": "open", "charged_on": "2026-05-06"}
    return [
        insert("clients", client_id="CL-8001", name="Test Forwarding", kind="forwarder", status="active", email="t@x.example",
               phone="555-0001", city="Havenport", country="Norland", desk_pin_hash=hashed("CL-8001", DESK_PIN)),
        insert("client_contacts", contact_id="CC-8001", client_id="CL-8001", name="Pat Test", role="dispatcher"),
        insert("credit_accounts", account_id="CA-8001", client_id="CL-8001", status="active", limit_cents=10_000_00,
               balance_cents=4_000_00, terms_days=30, bank_token="CANARY-b"),
        insert("contracts", contract_id="CT-8001", client_id="CL-8001", status="active", divisor=6000, discount_percent=10,
               extra_free_days=1, free_cancel_hours=24, free_amendments="no", valid_from="2026-01-01", valid_to="2026-12-31",
               floor_price_note="CANARY-f"),
        insert("invoices", invoice_id="INV-8001", account_id="CA-8001", total_cents=4_000_00, paid_cents=0,
               issued_on="2026-04-30", due_on="2026-05-30", status="open"),
        _flight("FL-8001", "HVP", "QRT", "A33P", "2026-05-12T14:00:00", "2026-05-12T14:00:00", "2026-05-12T20:40:00"),
        _flight("FL-8002", "QRT", "SMD", "A33P", "2026-05-13T16:00:00", "2026-05-13T12:00:00", "2026-05-13T15:10:00"),
        _flight("FL-8003", "HVP", "QRT", "B77F", "2026-05-13T22:00:00", "2026-05-13T22:00:00", "2026-05-14T04:45:00"),
        _flight("FL-8004", "HVP", "QRT", "A33P", "2026-05-14T14:00:00", "2026-05-14T14:00:00", "2026-05-14T20:40:00", booked_grams=9_900_000),
        _flight("FL-8005", "HVP", "QRT", "A33P", "2026-05-11T08:00:00", "2026-05-11T08:00:00", "2026-05-11T14:40:00"),
        *_bill(8001, ISSUED, "issued"),
        *_bill(8002, ACCEPTED, "accepted"),
        *_bill(8003, ARRIVED, "arrived", arrived_on="2026-05-07"),
        *_bill(8004, DELIVERED, "delivered", arrived_on="2026-04-20", delivered_on="2026-04-22", released_to="Amber Trading"),
        insert("house_waybills", house_id="HW-8001", awb=ISSUED, shipper_name="A", consignee_name="B", goods="Parts", pieces=4, weight_grams=940_000),
        insert("dg_declarations", declaration_id="DG-8001", awb=ISSUED, un_number="UN1263", packing_group="II", hazard_class="3",
               packages=2, net_milli=5_000, aircraft="passenger", signed="yes", status="submitted"),
        insert("embargoes", embargo_id="EM-8001", station="SMD", direction="import", commodity="machinery", announced_on="2026-05-01",
               starts_on="2026-06-01", ends_on="2026-06-09", exempt="contract", cause="capacity", status="active"),
        insert("containers", container_id="RKN-8001", station="HVP", kind="RKN", status="available"),
        insert("approvals", approval_id="AP-8001", client_id="CL-8001", kind="fee_waiver", amount_cents=400_00, status="approved", requested_at="2026-05-08T10:00:00"),
        insert("approvals", approval_id="AP-8002", client_id="CL-8001", kind="claim", amount_cents=4_000_00, status="approved", requested_at="2026-05-08T10:00:00"),
        insert("approvals", approval_id="AP-8003", client_id="CL-8001", kind="credit_release", amount_cents=1_000_00, status="pending", requested_at="2026-05-08T10:00:00"),
        insert("charges", charge_id="CH-8001", awb=ISSUED, kind="freight", amount_cents=2_000_00, **charge),
        insert("charges", charge_id="CH-8002", awb=DELIVERED, kind="storage", amount_cents=300_00, **charge),
        insert("claims", claim_id="CLM-8001", awb=DELIVERED, kind="damage", weight_grams=120_000, claimed_cents=3_900_00, settled_cents=0, notice_on="2026-05-04", status="open"),
        insert("irregularities", irregularity_id="IR-8001", awb=DELIVERED, station="SMD", kind="damaged", pieces=1, status="open", reported_at="2026-04-20T10:00:00"),
        insert("cases", case_id="CS-8001", client_id="CL-8001", awb=ISSUED, kind="amendment", priority="normal", status="open", summary="s", opened_at="2026-05-10T10:00:00"),
    ]  # fmt: skip


def session(setup: list[RowChange] | None = None, now: str = "2026-05-11T09:15:00") -> WorldSession:
    task = Task(
        id="airline_cargo/test/train-000", world="airline_cargo", world_version=WORLD.version, family="test", level=1, split="train",
        now=now, image="base", request="r", outcomes=[Outcome()], criteria=[], oracle=[],
        setup=desk_rows() if setup is None else setup,
    ).sealed()  # fmt: skip
    return open_session(WORLD, task)


def call(live: WorldSession, tool: str, **arguments: Any) -> CallRecord:
    return asyncio.run(live.call(tool, arguments))


def ok(live: WorldSession, tool: str, **arguments: Any) -> Any:
    record = call(live, tool, **arguments)
    assert record.status == "ok", record.result
    return json.loads(record.result)


def changed(live: WorldSession) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row.table, str(next(iter(row.key.values())))): row.new for row in live.changes()}


VALID: dict[str, dict[str, Any]] = {
    "find_client": {"name": "test forw"},
    "get_client": {"client_id": "CL-8001"},
    "get_client_profile_v2": {"client_id": "CL-8001", "include": ["contacts", "accounts", "contracts", "cases", "interactions", "messages"]},
    "verify_client": {"client_id": "CL-8001", "pin": "0000"},
    "update_client_contact": {"client_id": "CL-8001", "changes": {"email": "new@x.example"}},
    "log_interaction": {"client_id": "CL-8001", "channel": "chat", "summary": "s"},
    "list_contracts": {"client_id": "CL-8001"},
    "get_contract": {"contract_id": "CT-8001"},
    "get_credit_account": {"client_id": "CL-8001"},
    "check_credit": {"client_id": "CL-8001", "amount": 10.0},
    "list_open_invoices": {"client_id": "CL-8001"},
    "set_account_hold": {"account_id": "CA-8001", "state": "on", "reason": "over_limit"},
    "find_booking": {"awb": ISSUED},
    "get_booking": {"booking_id": "BK-8001"},
    "list_bookings": {"client_id": "CL-8001", "status": "confirmed"},
    "create_booking": {"client_id": "CL-8001", "product": "general", "commodity": "books", "flight_id": "FL-8001", "pieces": 2, "weight_kg": 100.0, "volume_cbm": 0.5, "onward_flight_id": "FL-8002", "contract_id": "CT-8001"},
    "cancel_booking": {"booking_id": "BK-8001"},
    "rebook_leg": {"booking_id": "BK-8001", "leg_no": 1, "flight_id": "FL-8003"},
    "offload_leg": {"booking_id": "BK-8001", "leg_no": 1},
    "set_booking_priority": {"booking_id": "BK-8001", "priority": "must_ride"},
    "apply_discount": {"booking_id": "BK-8001", "percent": 5},
    "reserve_container": {"booking_id": "BK-8001", "container_id": "RKN-8001"},
    "find_waybill": {"awb": ISSUED},
    "get_waybill": {"awb": ISSUED},
    "get_waybill_pieces": {"awb": ISSUED},
    "list_waybills": {"client_id": "CL-8001", "status": "issued"},
    "list_house_waybills": {"awb": ISSUED},
    "amend_waybill": {"awb": ISSUED, "chargeable_kg": 1300.0, "volume_cbm": 7.8},
    "amend_parties": {"awb": ISSUED, "notify_name": "Kite Brokers"},
    "amend_house_waybill": {"house_id": "HW-8001", "pieces": 3},
    "void_waybill": {"awb": ISSUED},
    "set_handling_code": {"awb": ISSUED, "code": "HEA", "state": "on"},
    "hold_shipment": {"awb": ARRIVED, "reason": "client"},
    "lift_hold": {"awb": ARRIVED},
    "verify_consignee": {"awb": ARRIVED, "release_pin": "000000"},
    "release_shipment": {"awb": ARRIVED, "receiver_name": "Amber Trading", "release_pin": RELEASE_PIN},
    "get_station_profile": {"station": "SMD"},
    "list_stations": {"country": "Levanta"},
    "get_route": {"origin": "HVP", "destination": "SMD"},
    "list_flights": {"origin": "HVP", "destination": "QRT", "date": "2026-05-12"},
    "get_flight": {"flight_id": "FL-8001"},
    "check_cutoff": {"flight_id": "FL-8001", "product": "general"},
    "get_aircraft_limits": {"aircraft": "A33P"},
    "list_embargoes": {"station": "SMD"},
    "get_embargo": {"embargo_id": "EM-8001"},
    "list_containers": {"station": "HVP"},
    "get_dg_entry": {"un_number": "UN1263"},
    "get_dg_declaration": {"awb": ISSUED},
    "accept_dg_declaration": {"declaration_id": "DG-8001"},
    "reject_dg_declaration": {"declaration_id": "DG-8001", "reason": "station"},
    "get_tariff": {"origin": "HVP", "destination": "QRT", "product": "general"},
    "quote_freight": {"origin": "HVP", "destination": "QRT", "product": "general", "chargeable_kg": 1300.0, "contract_id": "CT-8001"},
    "list_surcharges": {},
    "list_charges": {"awb": ISSUED},
    "add_charge": {"awb": ISSUED, "kind": "amendment", "amount": 40.0},
    "waive_charge": {"charge_id": "CH-8002", "amount": 150.0},
    "quote_storage": {"awb": ARRIVED, "until": "2026-05-13"},
    "get_liability_rate": {"date": "2026-05-11"},
    "get_shipment_status": {"awb": ISSUED},
    "track_shipment": {"awb": ISSUED},
    "list_irregularities": {"awb": DELIVERED},
    "report_irregularity": {"awb": ARRIVED, "station": "SMD", "kind": "missing", "pieces": 1},
    "find_cases": {"awb": ISSUED},
    "list_cases": {"client_id": "CL-8001", "status": "open"},
    "get_case": {"case_id": "CS-8001"},
    "create_case": {"client_id": "CL-8001", "kind": "claim", "summary": "s", "awb": DELIVERED, "priority": "high"},
    "add_case_note": {"case_id": "CS-8001", "note": "n"},
    "close_case": {"case_id": "CS-8001", "resolution": "done"},
    "document_denial": {"client_id": "CL-8001", "request": "amendment", "reason": "too_late", "article_id": "AWB-PIECES", "awb": ARRIVED},
    "request_approval": {"client_id": "CL-8001", "kind": "discount", "amount": 80.0},
    "list_approvals": {"client_id": "CL-8001"},
    "list_claims": {"awb": DELIVERED},
    "get_claim": {"claim_id": "CLM-8001"},
    "open_claim": {"awb": DELIVERED, "kind": "delay", "weight_kg": 100.0, "amount": 200.0},
    "settle_claim": {"claim_id": "CLM-8001", "amount": 500.0},
    "reject_claim": {"claim_id": "CLM-8001", "reason": "late_notice"},
    "send_chat_message": {"client_id": "CL-8001", "template": "confirmation", "body": "b"},
    "send_email": {"client_id": "CL-8001", "template": "notice", "body": "b"},
    "send_edi": {"awb": ISSUED, "kind": "FWB", "station": "SMD"},
    "search_policy": {"query": "correct the pieces of a waybill"},
    "get_policy_article": {"article_id": "TRK-STATUS"},
    "transfer_to_human": {"queue": "claims", "summary": "s"},
}  # fmt: skip
# Calls of VALID whose arguments are well formed and that the records refuse: the code they must give.
REFUSED = {"lift_hold": "invalid_state"}
