-- Meridian Air Cargo. Money is integer cents, weight grams, volume litres (1,000 l = 1 cbm), lengths centimetres, times minutes.
-- Dates are 'YYYY-MM-DD'; columns named *_at are 'YYYY-MM-DDTHH:MM:SS' in UTC, *_local the same by the clock of the station.

CREATE TABLE clients (
  client_id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  kind TEXT NOT NULL CONSTRAINT clients_kind CHECK (kind IN ('forwarder', 'shipper')),
  status TEXT NOT NULL CONSTRAINT clients_status CHECK (status IN ('active', 'inactive')),
  email TEXT NOT NULL,
  phone TEXT NOT NULL,
  city TEXT NOT NULL,
  country TEXT NOT NULL,
  desk_pin_hash TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who may speak for a client, and about what.
CREATE TABLE client_contacts (
  contact_id TEXT NOT NULL PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES clients (client_id),
  name TEXT NOT NULL,
  role TEXT NOT NULL CONSTRAINT client_contacts_role CHECK (role IN ('manager', 'dispatcher', 'accountant', 'viewer'))
) STRICT, WITHOUT ROWID;

CREATE TABLE credit_accounts (
  account_id TEXT NOT NULL PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES clients (client_id),
  status TEXT NOT NULL CONSTRAINT credit_accounts_status CHECK (status IN ('active', 'held', 'closed')),
  limit_cents INTEGER NOT NULL CONSTRAINT credit_accounts_limit CHECK (limit_cents >= 0),
  balance_cents INTEGER NOT NULL,
  terms_days INTEGER NOT NULL CONSTRAINT credit_accounts_terms CHECK (terms_days BETWEEN 7 AND 60),
  hold_reason TEXT CONSTRAINT credit_accounts_hold_reason CHECK (hold_reason IN ('past_due', 'over_limit', 'fraud_review')),
  bank_token TEXT NOT NULL,
  CONSTRAINT credit_accounts_hold CHECK ((status = 'held') = (hold_reason IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE contracts (
  contract_id TEXT NOT NULL PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES clients (client_id),
  status TEXT NOT NULL CONSTRAINT contracts_status CHECK (status IN ('active', 'expired', 'draft')),
  divisor INTEGER NOT NULL CONSTRAINT contracts_divisor CHECK (divisor IN (5000, 6000)),
  discount_percent INTEGER NOT NULL CONSTRAINT contracts_discount CHECK (discount_percent BETWEEN 0 AND 25),
  extra_free_days INTEGER NOT NULL CONSTRAINT contracts_free_days CHECK (extra_free_days BETWEEN 0 AND 5),
  free_cancel_hours INTEGER CONSTRAINT contracts_cancel CHECK (free_cancel_hours BETWEEN 0 AND 72),
  free_amendments TEXT NOT NULL CONSTRAINT contracts_amendments CHECK (free_amendments IN ('yes', 'no')),
  valid_from TEXT NOT NULL,
  valid_to TEXT NOT NULL,
  floor_price_note TEXT NOT NULL,
  CONSTRAINT contracts_period CHECK (valid_from <= valid_to)
) STRICT, WITHOUT ROWID;

CREATE TABLE stations (
  station TEXT NOT NULL PRIMARY KEY,
  city TEXT NOT NULL,
  country TEXT NOT NULL,
  utc_offset INTEGER NOT NULL CONSTRAINT stations_offset CHECK (utc_offset BETWEEN -720 AND 840),
  cutoff_general INTEGER NOT NULL CONSTRAINT stations_cutoff_general CHECK (cutoff_general > 0),
  cutoff_express INTEGER NOT NULL CONSTRAINT stations_cutoff_express CHECK (cutoff_express > 0),
  cutoff_perishable INTEGER NOT NULL CONSTRAINT stations_cutoff_perishable CHECK (cutoff_perishable > 0),
  cutoff_pharma INTEGER NOT NULL CONSTRAINT stations_cutoff_pharma CHECK (cutoff_pharma > 0),
  cutoff_live_animals INTEGER NOT NULL CONSTRAINT stations_cutoff_live_animals CHECK (cutoff_live_animals > 0),
  dg_acceptance TEXT NOT NULL CONSTRAINT stations_dg CHECK (dg_acceptance IN ('full', 'limited', 'none')),
  live_animals TEXT NOT NULL CONSTRAINT stations_live_animals CHECK (live_animals IN ('yes', 'no')),
  cold_room TEXT NOT NULL CONSTRAINT stations_cold_room CHECK (cold_room IN ('yes', 'no')),
  controlled_room TEXT NOT NULL CONSTRAINT stations_controlled_room CHECK (controlled_room IN ('yes', 'no')),
  freezer TEXT NOT NULL CONSTRAINT stations_freezer CHECK (freezer IN ('yes', 'no')),
  max_piece_grams INTEGER NOT NULL,
  max_height_cm INTEGER NOT NULL,
  transit_minutes INTEGER NOT NULL,
  free_days INTEGER NOT NULL CONSTRAINT stations_free_days CHECK (free_days >= 0),
  storage_cents_per_kg INTEGER NOT NULL,
  storage_minimum_cents INTEGER NOT NULL,
  weekend_closed TEXT NOT NULL CONSTRAINT stations_weekend CHECK (weekend_closed IN ('yes', 'no')),
  amend_until TEXT NOT NULL CONSTRAINT stations_amend_until CHECK (amend_until IN ('acceptance', 'departure')),
  advance_filing TEXT NOT NULL CONSTRAINT stations_filing CHECK (advance_filing IN ('yes', 'no')),
  door_code TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE aircraft_types (
  aircraft TEXT NOT NULL PRIMARY KEY,
  kind TEXT NOT NULL CONSTRAINT aircraft_types_kind CHECK (kind IN ('freighter', 'passenger', 'truck')),
  max_piece_grams INTEGER NOT NULL,
  max_height_cm INTEGER NOT NULL,
  max_length_cm INTEGER NOT NULL,
  live_animals TEXT NOT NULL CONSTRAINT aircraft_types_live_animals CHECK (live_animals IN ('yes', 'no')),
  pharma TEXT NOT NULL CONSTRAINT aircraft_types_pharma CHECK (pharma IN ('yes', 'no'))
) STRICT, WITHOUT ROWID;

CREATE TABLE routes (
  route_id TEXT NOT NULL PRIMARY KEY,
  origin TEXT NOT NULL REFERENCES stations (station),
  destination TEXT NOT NULL REFERENCES stations (station),
  via TEXT REFERENCES stations (station),
  status TEXT NOT NULL CONSTRAINT routes_status CHECK (status IN ('open', 'suspended'))
) STRICT, WITHOUT ROWID;

CREATE TABLE flights (
  flight_id TEXT NOT NULL PRIMARY KEY,
  number TEXT NOT NULL,
  origin TEXT NOT NULL REFERENCES stations (station),
  destination TEXT NOT NULL REFERENCES stations (station),
  aircraft TEXT NOT NULL REFERENCES aircraft_types (aircraft),
  departs_local TEXT NOT NULL,
  departs_at TEXT NOT NULL,
  arrives_at TEXT NOT NULL,
  capacity_grams INTEGER NOT NULL,
  booked_grams INTEGER NOT NULL,
  capacity_l INTEGER NOT NULL,
  booked_l INTEGER NOT NULL,
  status TEXT NOT NULL CONSTRAINT flights_status CHECK (status IN ('scheduled', 'delayed', 'closed', 'departed', 'cancelled')),
  delay_minutes INTEGER NOT NULL DEFAULT 0 CONSTRAINT flights_delay CHECK (delay_minutes >= 0),
  CONSTRAINT flights_capacity CHECK (booked_grams BETWEEN 0 AND capacity_grams AND booked_l BETWEEN 0 AND capacity_l)
) STRICT, WITHOUT ROWID;
CREATE INDEX flights_by_leg ON flights (origin, destination, departs_at);

CREATE TABLE commodities (
  commodity TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  product TEXT NOT NULL CONSTRAINT commodities_product CHECK (product IN ('general', 'express', 'perishable', 'pharma', 'live_animals')),
  sensitive TEXT NOT NULL CONSTRAINT commodities_sensitive CHECK (sensitive IN ('yes', 'no'))
) STRICT, WITHOUT ROWID;

CREATE TABLE tariffs (
  origin TEXT NOT NULL REFERENCES stations (station),
  destination TEXT NOT NULL REFERENCES stations (station),
  product TEXT NOT NULL CONSTRAINT tariffs_product CHECK (product IN ('general', 'express', 'perishable', 'pharma', 'live_animals')),
  cents_per_kg INTEGER NOT NULL CONSTRAINT tariffs_price CHECK (cents_per_kg > 0),
  minimum_cents INTEGER NOT NULL,
  CONSTRAINT tariffs_key PRIMARY KEY (origin, destination, product)
) STRICT, WITHOUT ROWID;

CREATE TABLE surcharges (
  surcharge TEXT NOT NULL CONSTRAINT surcharges_surcharge CHECK (surcharge IN ('fuel', 'security', 'waybill_fee', 'dg_fee')),
  valid_from TEXT NOT NULL,
  valid_to TEXT,
  basis TEXT NOT NULL CONSTRAINT surcharges_basis CHECK (basis IN ('chargeable_kg', 'gross_kg', 'waybill')),
  cents INTEGER NOT NULL,
  CONSTRAINT surcharges_key PRIMARY KEY (surcharge, valid_from)
) STRICT, WITHOUT ROWID;

-- What one liability unit is worth, by day.
CREATE TABLE liability_rates (
  valid_from TEXT NOT NULL PRIMARY KEY,
  valid_to TEXT NOT NULL,
  cents_per_unit INTEGER NOT NULL CONSTRAINT liability_rates_value CHECK (cents_per_unit > 0)
) STRICT, WITHOUT ROWID;

-- Containers with a cooling of their own.
CREATE TABLE containers (
  container_id TEXT NOT NULL PRIMARY KEY,
  station TEXT NOT NULL REFERENCES stations (station),
  kind TEXT NOT NULL CONSTRAINT containers_kind CHECK (kind IN ('RKN', 'RAP')),
  status TEXT NOT NULL CONSTRAINT containers_status CHECK (status IN ('available', 'reserved', 'maintenance'))
) STRICT, WITHOUT ROWID;

CREATE TABLE bookings (
  booking_id TEXT NOT NULL PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES clients (client_id),
  product TEXT NOT NULL CONSTRAINT bookings_product CHECK (product IN ('general', 'express', 'perishable', 'pharma', 'live_animals')),
  commodity TEXT NOT NULL REFERENCES commodities (commodity),
  origin TEXT NOT NULL REFERENCES stations (station),
  destination TEXT NOT NULL REFERENCES stations (station),
  pieces INTEGER NOT NULL CONSTRAINT bookings_pieces CHECK (pieces > 0),
  weight_grams INTEGER NOT NULL CONSTRAINT bookings_weight CHECK (weight_grams > 0),
  volume_l INTEGER NOT NULL CONSTRAINT bookings_volume CHECK (volume_l > 0),
  status TEXT NOT NULL CONSTRAINT bookings_status CHECK (status IN ('confirmed', 'waitlisted', 'cancelled', 'no_show', 'flown')),
  priority TEXT NOT NULL DEFAULT 'standard' CONSTRAINT bookings_priority CHECK (priority IN ('standard', 'must_ride')),
  contract_id TEXT REFERENCES contracts (contract_id),
  discount_percent INTEGER NOT NULL DEFAULT 0 CONSTRAINT bookings_discount CHECK (discount_percent BETWEEN 0 AND 15),
  container_id TEXT REFERENCES containers (container_id),
  booked_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE booking_legs (
  booking_id TEXT NOT NULL REFERENCES bookings (booking_id),
  leg_no INTEGER NOT NULL CONSTRAINT booking_legs_no CHECK (leg_no BETWEEN 1 AND 2),
  flight_id TEXT NOT NULL REFERENCES flights (flight_id),
  status TEXT NOT NULL CONSTRAINT booking_legs_status CHECK (status IN ('booked', 'offloaded', 'flown', 'cancelled')),
  CONSTRAINT booking_legs_key PRIMARY KEY (booking_id, leg_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE waybills (
  awb TEXT NOT NULL PRIMARY KEY,
  booking_id TEXT NOT NULL REFERENCES bookings (booking_id),
  client_id TEXT NOT NULL REFERENCES clients (client_id),
  contract_id TEXT REFERENCES contracts (contract_id),
  kind TEXT NOT NULL CONSTRAINT waybills_kind CHECK (kind IN ('direct', 'master')),
  product TEXT NOT NULL CONSTRAINT waybills_product CHECK (product IN ('general', 'express', 'perishable', 'pharma', 'live_animals')),
  commodity TEXT NOT NULL REFERENCES commodities (commodity),
  origin TEXT NOT NULL REFERENCES stations (station),
  destination TEXT NOT NULL REFERENCES stations (station),
  shipper_name TEXT NOT NULL,
  consignee_name TEXT NOT NULL,
  notify_name TEXT,
  goods TEXT NOT NULL,
  temp_range TEXT NOT NULL CONSTRAINT waybills_temp CHECK (temp_range IN ('none', 'frozen', 'cold', 'controlled')),
  pieces INTEGER NOT NULL CONSTRAINT waybills_pieces CHECK (pieces > 0),
  weight_grams INTEGER NOT NULL CONSTRAINT waybills_weight CHECK (weight_grams > 0),
  volume_l INTEGER NOT NULL CONSTRAINT waybills_volume CHECK (volume_l > 0),
  chargeable_grams INTEGER NOT NULL CONSTRAINT waybills_chargeable CHECK (chargeable_grams > 0),
  declared_value_cents INTEGER,
  status TEXT NOT NULL CONSTRAINT waybills_status CHECK (status IN ('draft', 'issued', 'accepted', 'in_transit', 'arrived', 'delivered', 'void')),
  hold TEXT NOT NULL DEFAULT 'none' CONSTRAINT waybills_hold CHECK (hold IN ('none', 'client', 'security', 'customs', 'unpaid')),
  issued_on TEXT NOT NULL,
  arrived_on TEXT,
  delivered_on TEXT,
  released_to TEXT,
  release_pin_hash TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- As measured by the scale at acceptance: the desk has no tool to change it.
CREATE TABLE waybill_pieces (
  awb TEXT NOT NULL REFERENCES waybills (awb),
  line_no INTEGER NOT NULL,
  pieces INTEGER NOT NULL CONSTRAINT waybill_pieces_pieces CHECK (pieces > 0),
  length_cm INTEGER NOT NULL,
  width_cm INTEGER NOT NULL,
  height_cm INTEGER NOT NULL,
  piece_grams INTEGER NOT NULL,
  CONSTRAINT waybill_pieces_key PRIMARY KEY (awb, line_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE waybill_handling (
  awb TEXT NOT NULL REFERENCES waybills (awb),
  code TEXT NOT NULL CONSTRAINT waybill_handling_code CHECK (code IN ('DGR', 'CAO', 'PER', 'PIL', 'COL', 'CRT', 'FRO', 'AVI', 'HEA', 'BIG', 'VAL')),
  CONSTRAINT waybill_handling_key PRIMARY KEY (awb, code)
) STRICT, WITHOUT ROWID;

CREATE TABLE house_waybills (
  house_id TEXT NOT NULL PRIMARY KEY,
  awb TEXT NOT NULL REFERENCES waybills (awb),
  shipper_name TEXT NOT NULL,
  consignee_name TEXT NOT NULL,
  goods TEXT NOT NULL,
  pieces INTEGER NOT NULL CONSTRAINT house_waybills_pieces CHECK (pieces > 0),
  weight_grams INTEGER NOT NULL CONSTRAINT house_waybills_weight CHECK (weight_grams > 0)
) STRICT, WITHOUT ROWID;

-- The list of dangerous goods; limits are net per package in grams or millilitres, NULL where the goods are forbidden.
CREATE TABLE dg_entries (
  un_number TEXT NOT NULL,
  packing_group TEXT NOT NULL CONSTRAINT dg_entries_group CHECK (packing_group IN ('I', 'II', 'III', 'none')),
  name TEXT NOT NULL,
  hazard_class TEXT NOT NULL,
  unit TEXT NOT NULL CONSTRAINT dg_entries_unit CHECK (unit IN ('kg', 'L')),
  passenger_milli INTEGER,
  cargo_milli INTEGER,
  CONSTRAINT dg_entries_key PRIMARY KEY (un_number, packing_group)
) STRICT, WITHOUT ROWID;

CREATE TABLE dg_declarations (
  declaration_id TEXT NOT NULL PRIMARY KEY,
  awb TEXT NOT NULL REFERENCES waybills (awb),
  un_number TEXT NOT NULL,
  packing_group TEXT NOT NULL CONSTRAINT dg_declarations_group CHECK (packing_group IN ('I', 'II', 'III', 'none')),
  hazard_class TEXT NOT NULL,
  packages INTEGER NOT NULL CONSTRAINT dg_declarations_packages CHECK (packages > 0),
  net_milli INTEGER NOT NULL CONSTRAINT dg_declarations_net CHECK (net_milli > 0),
  aircraft TEXT NOT NULL CONSTRAINT dg_declarations_aircraft CHECK (aircraft IN ('passenger', 'cargo_only')),
  signed TEXT NOT NULL CONSTRAINT dg_declarations_signed CHECK (signed IN ('yes', 'no')),
  status TEXT NOT NULL CONSTRAINT dg_declarations_status CHECK (status IN ('submitted', 'accepted', 'rejected')),
  reject_reason TEXT CONSTRAINT dg_declarations_reason CHECK (reject_reason IN ('unsigned', 'class_mismatch', 'packing_group', 'packages', 'aircraft', 'over_limit', 'station'))
) STRICT, WITHOUT ROWID;

CREATE TABLE embargoes (
  embargo_id TEXT NOT NULL PRIMARY KEY,
  station TEXT NOT NULL REFERENCES stations (station),
  direction TEXT NOT NULL CONSTRAINT embargoes_direction CHECK (direction IN ('export', 'import', 'transit', 'any')),
  commodity TEXT REFERENCES commodities (commodity),
  client_id TEXT REFERENCES clients (client_id),
  announced_on TEXT NOT NULL,
  starts_on TEXT NOT NULL,
  ends_on TEXT,
  exempt TEXT NOT NULL CONSTRAINT embargoes_exempt CHECK (exempt IN ('none', 'medical', 'contract')),
  cause TEXT NOT NULL CONSTRAINT embargoes_cause CHECK (cause IN ('capacity', 'weather', 'security', 'strike', 'regulation')),
  status TEXT NOT NULL CONSTRAINT embargoes_status CHECK (status IN ('active', 'lifted'))
) STRICT, WITHOUT ROWID;

CREATE TABLE approvals (
  approval_id TEXT NOT NULL PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES clients (client_id),
  kind TEXT NOT NULL CONSTRAINT approvals_kind CHECK (kind IN ('discount', 'fee_waiver', 'claim', 'credit_release')),
  amount_cents INTEGER NOT NULL CONSTRAINT approvals_amount CHECK (amount_cents > 0),
  status TEXT NOT NULL CONSTRAINT approvals_status CHECK (status IN ('pending', 'approved', 'rejected', 'used')),
  requested_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE charges (
  charge_id TEXT NOT NULL PRIMARY KEY,
  awb TEXT NOT NULL REFERENCES waybills (awb),
  kind TEXT NOT NULL CONSTRAINT charges_kind CHECK (kind IN ('freight', 'fuel', 'security', 'waybill_fee', 'dg_fee', 'amendment', 'storage', 'cancellation', 'no_show', 'handling', 'valuation')),
  amount_cents INTEGER NOT NULL CONSTRAINT charges_amount CHECK (amount_cents > 0),
  waived_cents INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL CONSTRAINT charges_status CHECK (status IN ('open', 'paid', 'waived')),
  approval_id TEXT REFERENCES approvals (approval_id),
  charged_on TEXT NOT NULL,
  CONSTRAINT charges_waived CHECK (waived_cents BETWEEN 0 AND amount_cents)
) STRICT, WITHOUT ROWID;
CREATE INDEX charges_by_awb ON charges (awb);

CREATE TABLE invoices (
  invoice_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES credit_accounts (account_id),
  total_cents INTEGER NOT NULL,
  paid_cents INTEGER NOT NULL DEFAULT 0,
  issued_on TEXT NOT NULL,
  due_on TEXT NOT NULL,
  status TEXT NOT NULL CONSTRAINT invoices_status CHECK (status IN ('open', 'past_due', 'paid')),
  CONSTRAINT invoices_settled CHECK (paid_cents BETWEEN 0 AND total_cents)
) STRICT, WITHOUT ROWID;

CREATE TABLE claims (
  claim_id TEXT NOT NULL PRIMARY KEY,
  awb TEXT NOT NULL REFERENCES waybills (awb),
  kind TEXT NOT NULL CONSTRAINT claims_kind CHECK (kind IN ('damage', 'delay', 'loss', 'shortage')),
  weight_grams INTEGER NOT NULL CONSTRAINT claims_weight CHECK (weight_grams > 0),
  claimed_cents INTEGER NOT NULL CONSTRAINT claims_claimed CHECK (claimed_cents > 0),
  settled_cents INTEGER NOT NULL DEFAULT 0,
  notice_on TEXT NOT NULL,
  status TEXT NOT NULL CONSTRAINT claims_status CHECK (status IN ('open', 'settled', 'rejected')),
  reject_reason TEXT CONSTRAINT claims_reason CHECK (reject_reason IN ('late_notice', 'excluded', 'no_damage', 'withdrawn')),
  approval_id TEXT REFERENCES approvals (approval_id),
  CONSTRAINT claims_settled CHECK (settled_cents BETWEEN 0 AND claimed_cents)
) STRICT, WITHOUT ROWID;

CREATE TABLE irregularities (
  irregularity_id TEXT NOT NULL PRIMARY KEY,
  awb TEXT NOT NULL REFERENCES waybills (awb),
  station TEXT NOT NULL REFERENCES stations (station),
  kind TEXT NOT NULL CONSTRAINT irregularities_kind CHECK (kind IN ('damaged', 'missing', 'offloaded', 'misrouted', 'poor_packing', 'temperature')),
  pieces INTEGER NOT NULL CONSTRAINT irregularities_pieces CHECK (pieces > 0),
  status TEXT NOT NULL CONSTRAINT irregularities_status CHECK (status IN ('open', 'closed')),
  reported_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tracking_events (
  awb TEXT NOT NULL REFERENCES waybills (awb),
  event_no INTEGER NOT NULL,
  code TEXT NOT NULL CONSTRAINT tracking_events_code CHECK (code IN ('BKD', 'RCS', 'DEP', 'ARR', 'RCF', 'NFD', 'DLV', 'DIS')),
  station TEXT NOT NULL REFERENCES stations (station),
  pieces INTEGER NOT NULL,
  happened_at TEXT NOT NULL,
  CONSTRAINT tracking_events_key PRIMARY KEY (awb, event_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE cases (
  case_id TEXT NOT NULL PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES clients (client_id),
  awb TEXT REFERENCES waybills (awb),
  kind TEXT NOT NULL CONSTRAINT cases_kind CHECK (kind IN ('amendment', 'booking', 'claim', 'complaint', 'billing', 'release', 'tracing', 'dangerous_goods', 'other')),
  priority TEXT NOT NULL DEFAULT 'normal' CONSTRAINT cases_priority CHECK (priority IN ('low', 'normal', 'high')),
  status TEXT NOT NULL CONSTRAINT cases_status CHECK (status IN ('open', 'pending', 'closed')),
  resolution TEXT CONSTRAINT cases_resolution CHECK (resolution IN ('done', 'denied', 'duplicate', 'withdrawn')),
  summary TEXT NOT NULL,
  opened_at TEXT NOT NULL,
  closed_at TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE case_notes (
  note_id TEXT NOT NULL PRIMARY KEY,
  case_id TEXT NOT NULL REFERENCES cases (case_id),
  visibility TEXT NOT NULL DEFAULT 'internal' CONSTRAINT case_notes_visibility CHECK (visibility IN ('internal', 'client')),
  body TEXT NOT NULL,
  written_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE denials (
  denial_id TEXT NOT NULL PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES clients (client_id),
  awb TEXT REFERENCES waybills (awb),
  request TEXT NOT NULL CONSTRAINT denials_request CHECK (request IN ('amendment', 'booking', 'rebooking', 'cancellation_fee', 'release', 'claim', 'fee_waiver', 'discount', 'dg_acceptance', 'credit_release', 'priority', 'account_access')),
  reason TEXT NOT NULL CONSTRAINT denials_reason CHECK (reason IN ('not_eligible', 'not_authorized', 'over_limit', 'too_late', 'embargo', 'inactive', 'held', 'dg_refused', 'cut_off_passed', 'already_used')),
  article_id TEXT NOT NULL,
  details TEXT,
  recorded_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
  message_id TEXT NOT NULL PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES clients (client_id),
  channel TEXT NOT NULL CONSTRAINT messages_channel CHECK (channel IN ('chat', 'email')),
  template TEXT NOT NULL CONSTRAINT messages_template CHECK (template IN ('confirmation', 'notice', 'quote', 'reminder')),
  body TEXT NOT NULL,
  sent_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE edi_messages (
  edi_id TEXT NOT NULL PRIMARY KEY,
  awb TEXT NOT NULL REFERENCES waybills (awb),
  kind TEXT NOT NULL CONSTRAINT edi_messages_kind CHECK (kind IN ('FWB', 'FSU', 'FHL', 'FNA')),
  station TEXT NOT NULL REFERENCES stations (station),
  sent_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Contact history kept by the desk software: a log, nothing depends on it.
CREATE TABLE interactions (
  interaction_id TEXT NOT NULL PRIMARY KEY,
  client_id TEXT NOT NULL REFERENCES clients (client_id),
  channel TEXT NOT NULL CONSTRAINT interactions_channel CHECK (channel IN ('phone', 'chat', 'email', 'edi')),
  summary TEXT NOT NULL,
  logged_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE transfers (
  transfer_id TEXT NOT NULL PRIMARY KEY,
  queue TEXT NOT NULL CONSTRAINT transfers_queue CHECK (queue IN ('supervisor', 'claims', 'security', 'capacity', 'accounts', 'general')),
  summary TEXT NOT NULL,
  transferred_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
