-- Northline Telecom. Money is integer cents. Dates are 'YYYY-MM-DD', columns named *_at are 'YYYY-MM-DDTHH:MM:SS'.

CREATE TABLE customers (
  customer_id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  kind TEXT NOT NULL CONSTRAINT customers_kind CHECK (kind IN ('personal', 'business')),
  status TEXT NOT NULL CONSTRAINT customers_status CHECK (status IN ('active', 'inactive')),
  email TEXT NOT NULL,
  phone TEXT NOT NULL,
  street TEXT NOT NULL,
  city TEXT NOT NULL,
  postcode TEXT NOT NULL,
  marketing TEXT NOT NULL CONSTRAINT customers_marketing CHECK (marketing IN ('yes', 'no')),
  pin_hash TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE accounts (
  account_id TEXT NOT NULL PRIMARY KEY,
  customer_id TEXT NOT NULL REFERENCES customers (customer_id),
  status TEXT NOT NULL CONSTRAINT accounts_status CHECK (status IN ('active', 'suspended', 'closed')),
  balance_cents INTEGER NOT NULL,
  cycle_day INTEGER NOT NULL CONSTRAINT accounts_cycle CHECK (cycle_day BETWEEN 1 AND 28),
  autopay TEXT NOT NULL CONSTRAINT accounts_autopay CHECK (autopay IN ('on', 'off')),
  billing TEXT NOT NULL CONSTRAINT accounts_billing CHECK (billing IN ('paper', 'email')),
  opened_on TEXT NOT NULL,
  closed_on TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX accounts_by_customer ON accounts (customer_id);

-- Who may act on an account besides its owner (the owner has a row too).
CREATE TABLE account_contacts (
  contact_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  name TEXT NOT NULL,
  role TEXT NOT NULL CONSTRAINT account_contacts_role CHECK (role IN ('owner', 'payer', 'manager', 'viewer')),
  payment_limit_cents INTEGER NOT NULL CONSTRAINT account_contacts_limit CHECK (payment_limit_cents >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE plans (
  plan_id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  kind TEXT NOT NULL CONSTRAINT plans_kind CHECK (kind IN ('personal', 'business')),
  monthly_cents INTEGER NOT NULL CONSTRAINT plans_price CHECK (monthly_cents >= 0),
  data_gb INTEGER NOT NULL,
  hotspot TEXT NOT NULL CONSTRAINT plans_hotspot CHECK (hotspot IN ('yes', 'no')),
  status TEXT NOT NULL CONSTRAINT plans_status CHECK (status IN ('current', 'retired'))
) STRICT, WITHOUT ROWID;

CREATE TABLE lines (
  line_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  phone TEXT NOT NULL CONSTRAINT lines_phone UNIQUE,
  plan_id TEXT NOT NULL REFERENCES plans (plan_id),
  status TEXT NOT NULL CONSTRAINT lines_status CHECK (status IN ('active', 'suspended', 'closed')),
  suspend_reason TEXT CONSTRAINT lines_suspend_reason CHECK (suspend_reason IN ('lost', 'stolen', 'vacation', 'nonpayment')),
  roaming TEXT NOT NULL CONSTRAINT lines_roaming CHECK (roaming IN ('on', 'off')),
  voicemail TEXT NOT NULL CONSTRAINT lines_voicemail CHECK (voicemail IN ('on', 'off')),
  data_cap TEXT NOT NULL CONSTRAINT lines_data_cap CHECK (data_cap IN ('on', 'off')),
  call_barring TEXT NOT NULL CONSTRAINT lines_call_barring CHECK (call_barring IN ('on', 'off')),
  wifi_calling TEXT NOT NULL CONSTRAINT lines_wifi_calling CHECK (wifi_calling IN ('on', 'off')),
  activated_on TEXT NOT NULL,
  contract_end TEXT,
  used_gb INTEGER NOT NULL CONSTRAINT lines_used CHECK (used_gb >= 0),
  port_pin_hash TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX lines_by_account ON lines (account_id);

CREATE TABLE addons (
  addon_id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  monthly_cents INTEGER NOT NULL CONSTRAINT addons_price CHECK (monthly_cents >= 0),
  status TEXT NOT NULL CONSTRAINT addons_status CHECK (status IN ('current', 'retired'))
) STRICT, WITHOUT ROWID;

CREATE TABLE line_addons (
  line_id TEXT NOT NULL REFERENCES lines (line_id),
  addon_id TEXT NOT NULL REFERENCES addons (addon_id),
  added_at TEXT NOT NULL,
  CONSTRAINT line_addons_key PRIMARY KEY (line_id, addon_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sims (
  sim_id TEXT NOT NULL PRIMARY KEY,
  line_id TEXT NOT NULL REFERENCES lines (line_id),
  kind TEXT NOT NULL CONSTRAINT sims_kind CHECK (kind IN ('physical', 'esim')),
  status TEXT NOT NULL CONSTRAINT sims_status CHECK (status IN ('active', 'replaced', 'blocked')),
  puk TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE devices (
  device_id TEXT NOT NULL PRIMARY KEY,
  line_id TEXT NOT NULL REFERENCES lines (line_id),
  model TEXT NOT NULL,
  purchased_on TEXT NOT NULL,
  remaining_cents INTEGER NOT NULL CONSTRAINT devices_remaining CHECK (remaining_cents >= 0),
  status TEXT NOT NULL CONSTRAINT devices_status CHECK (status IN ('in_use', 'lost', 'returned'))
) STRICT, WITHOUT ROWID;

CREATE TABLE invoices (
  invoice_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  period TEXT NOT NULL,
  issued_on TEXT NOT NULL,
  due_on TEXT NOT NULL,
  total_cents INTEGER NOT NULL,
  paid_cents INTEGER NOT NULL DEFAULT 0,
  credited_cents INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL CONSTRAINT invoices_status CHECK (status IN ('open', 'past_due', 'paid', 'void')),
  CONSTRAINT invoices_settled CHECK (paid_cents >= 0 AND credited_cents >= 0 AND paid_cents + credited_cents <= total_cents)
) STRICT, WITHOUT ROWID;
CREATE INDEX invoices_by_account ON invoices (account_id);

CREATE TABLE invoice_items (
  invoice_id TEXT NOT NULL REFERENCES invoices (invoice_id),
  item_no INTEGER NOT NULL,
  kind TEXT NOT NULL CONSTRAINT invoice_items_kind CHECK (kind IN ('plan', 'addon', 'device', 'roaming', 'overage', 'late_fee', 'tax')),
  line_id TEXT REFERENCES lines (line_id),
  amount_cents INTEGER NOT NULL,
  CONSTRAINT invoice_items_key PRIMARY KEY (invoice_id, item_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE invoice_copies (
  copy_id TEXT NOT NULL PRIMARY KEY,
  invoice_id TEXT NOT NULL REFERENCES invoices (invoice_id),
  channel TEXT NOT NULL CONSTRAINT invoice_copies_channel CHECK (channel IN ('email', 'sms', 'post')),
  sent_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE payment_methods (
  method_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  kind TEXT NOT NULL CONSTRAINT payment_methods_kind CHECK (kind IN ('card', 'bank')),
  brand TEXT NOT NULL,
  last4 TEXT NOT NULL,
  expires TEXT,
  is_default INTEGER NOT NULL CONSTRAINT payment_methods_default CHECK (is_default IN (0, 1)),
  status TEXT NOT NULL CONSTRAINT payment_methods_status CHECK (status IN ('active', 'expired', 'blocked', 'removed')),
  limit_cents INTEGER NOT NULL CONSTRAINT payment_methods_limit CHECK (limit_cents >= 0),
  card_token TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX payment_methods_by_account ON payment_methods (account_id);

CREATE TABLE payments (
  payment_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  invoice_id TEXT REFERENCES invoices (invoice_id),
  method_id TEXT REFERENCES payment_methods (method_id),
  source TEXT NOT NULL CONSTRAINT payments_source CHECK (source IN ('saved_method', 'autopay', 'cash', 'check', 'wire')),
  amount_cents INTEGER NOT NULL CONSTRAINT payments_amount CHECK (amount_cents > 0),
  refunded_cents INTEGER NOT NULL DEFAULT 0,
  reference TEXT,
  status TEXT NOT NULL CONSTRAINT payments_status CHECK (status IN ('posted', 'pending', 'refunded', 'declined')),
  paid_at TEXT NOT NULL,
  CONSTRAINT payments_refund CHECK (refunded_cents BETWEEN 0 AND amount_cents)
) STRICT, WITHOUT ROWID;
CREATE INDEX payments_by_account ON payments (account_id);

CREATE TABLE payment_arrangements (
  arrangement_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  amount_cents INTEGER NOT NULL CONSTRAINT payment_arrangements_amount CHECK (amount_cents > 0),
  installments INTEGER NOT NULL CONSTRAINT payment_arrangements_installments CHECK (installments BETWEEN 2 AND 6),
  first_due TEXT NOT NULL,
  status TEXT NOT NULL CONSTRAINT payment_arrangements_status CHECK (status IN ('active', 'completed', 'broken')),
  created_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE credits (
  credit_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  invoice_id TEXT REFERENCES invoices (invoice_id),
  amount_cents INTEGER NOT NULL CONSTRAINT credits_amount CHECK (amount_cents > 0),
  reason TEXT NOT NULL CONSTRAINT credits_reason CHECK (reason IN ('late_fee', 'outage', 'billing_error', 'goodwill', 'roaming')),
  approval_id TEXT REFERENCES approvals (approval_id),
  applied_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE approvals (
  approval_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  kind TEXT NOT NULL CONSTRAINT approvals_kind CHECK (kind IN ('credit', 'refund', 'arrangement', 'fee_waiver')),
  amount_cents INTEGER NOT NULL CONSTRAINT approvals_amount CHECK (amount_cents > 0),
  status TEXT NOT NULL CONSTRAINT approvals_status CHECK (status IN ('pending', 'approved', 'rejected', 'used')),
  requested_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- How the duty manager answers when asked: request_approval acts on it, no tool shows it.
CREATE TABLE duty_answers (
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  kind TEXT NOT NULL CONSTRAINT duty_answers_kind CHECK (kind IN ('credit', 'refund', 'arrangement', 'fee_waiver')),
  answer TEXT NOT NULL CONSTRAINT duty_answers_answer CHECK (answer IN ('approved', 'rejected')),
  CONSTRAINT duty_answers_key PRIMARY KEY (account_id, kind)
) STRICT, WITHOUT ROWID;

-- The price of the days left in a cycle, settled when the plan changes in the middle of it.
CREATE TABLE prorations (
  proration_id TEXT NOT NULL PRIMARY KEY,
  line_id TEXT NOT NULL REFERENCES lines (line_id),
  direction TEXT NOT NULL CONSTRAINT prorations_direction CHECK (direction IN ('charge', 'credit')),
  amount_cents INTEGER NOT NULL CONSTRAINT prorations_amount CHECK (amount_cents > 0),
  billed_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX prorations_by_line ON prorations (line_id);

CREATE TABLE promotions (
  promotion_id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  audience TEXT NOT NULL CONSTRAINT promotions_audience CHECK (audience IN ('personal', 'business', 'any')),
  discount_cents INTEGER NOT NULL CONSTRAINT promotions_discount CHECK (discount_cents > 0),
  months INTEGER NOT NULL,
  ends_on TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE account_promotions (
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  promotion_id TEXT NOT NULL REFERENCES promotions (promotion_id),
  added_at TEXT NOT NULL,
  CONSTRAINT account_promotions_key PRIMARY KEY (account_id, promotion_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tickets (
  ticket_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  line_id TEXT REFERENCES lines (line_id),
  topic TEXT NOT NULL CONSTRAINT tickets_topic CHECK (topic IN ('billing', 'network', 'device', 'sim', 'porting', 'plan', 'other')),
  priority TEXT NOT NULL DEFAULT 'normal' CONSTRAINT tickets_priority CHECK (priority IN ('low', 'normal', 'high')),
  status TEXT NOT NULL CONSTRAINT tickets_status CHECK (status IN ('open', 'pending', 'closed')),
  resolution TEXT CONSTRAINT tickets_resolution CHECK (resolution IN ('solved', 'denied', 'duplicate', 'no_fault')),
  summary TEXT NOT NULL,
  opened_at TEXT NOT NULL,
  closed_at TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE ticket_notes (
  note_id TEXT NOT NULL PRIMARY KEY,
  ticket_id TEXT NOT NULL REFERENCES tickets (ticket_id),
  visibility TEXT NOT NULL DEFAULT 'internal' CONSTRAINT ticket_notes_visibility CHECK (visibility IN ('internal', 'customer')),
  body TEXT NOT NULL,
  written_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Back-office files, apart from desk tickets: complaints, fraud, privacy, disputes.
CREATE TABLE cases (
  case_id TEXT NOT NULL PRIMARY KEY,
  customer_id TEXT NOT NULL REFERENCES customers (customer_id),
  kind TEXT NOT NULL CONSTRAINT cases_kind CHECK (kind IN ('complaint', 'fraud', 'privacy', 'bereavement')),
  status TEXT NOT NULL CONSTRAINT cases_status CHECK (status IN ('open', 'closed')),
  description TEXT NOT NULL,
  opened_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE disputes (
  dispute_id TEXT NOT NULL PRIMARY KEY,
  invoice_id TEXT NOT NULL REFERENCES invoices (invoice_id),
  item_numbers TEXT NOT NULL,
  amount_cents INTEGER NOT NULL CONSTRAINT disputes_amount CHECK (amount_cents > 0),
  reason TEXT NOT NULL CONSTRAINT disputes_reason CHECK (reason IN ('not_mine', 'wrong_amount', 'cancelled_service', 'duplicate')),
  status TEXT NOT NULL CONSTRAINT disputes_status CHECK (status IN ('open', 'upheld', 'rejected')),
  opened_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE denials (
  denial_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (account_id),
  request TEXT NOT NULL CONSTRAINT denials_request CHECK (request IN ('refund', 'fee_waiver', 'credit', 'plan_change', 'roaming', 'port_out', 'device_upgrade', 'payment', 'arrangement', 'account_access', 'restore')),
  reason TEXT NOT NULL CONSTRAINT denials_reason CHECK (reason IN ('not_eligible', 'already_used', 'over_limit', 'not_authorized', 'inactive', 'past_due', 'in_contract', 'too_late')),
  article_id TEXT NOT NULL,
  details TEXT,
  recorded_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
  message_id TEXT NOT NULL PRIMARY KEY,
  customer_id TEXT NOT NULL REFERENCES customers (customer_id),
  channel TEXT NOT NULL CONSTRAINT messages_channel CHECK (channel IN ('sms', 'email')),
  template TEXT NOT NULL CONSTRAINT messages_template CHECK (template IN ('confirmation', 'receipt', 'reminder', 'port_pin', 'notice')),
  body TEXT NOT NULL,
  sent_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Contact history kept by the desk software: a log, nothing depends on it.
CREATE TABLE interactions (
  interaction_id TEXT NOT NULL PRIMARY KEY,
  customer_id TEXT NOT NULL REFERENCES customers (customer_id),
  channel TEXT NOT NULL CONSTRAINT interactions_channel CHECK (channel IN ('phone', 'chat', 'email', 'store')),
  summary TEXT NOT NULL,
  logged_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE cells (
  cell_id TEXT NOT NULL PRIMARY KEY,
  city TEXT NOT NULL,
  technology TEXT NOT NULL CONSTRAINT cells_technology CHECK (technology IN ('4G', '5G')),
  status TEXT NOT NULL CONSTRAINT cells_status CHECK (status IN ('up', 'degraded', 'down'))
) STRICT, WITHOUT ROWID;

CREATE TABLE outages (
  outage_id TEXT NOT NULL PRIMARY KEY,
  cell_id TEXT NOT NULL REFERENCES cells (cell_id),
  kind TEXT NOT NULL CONSTRAINT outages_kind CHECK (kind IN ('fault', 'planned')),
  hours INTEGER NOT NULL CONSTRAINT outages_hours CHECK (hours > 0),
  started_at TEXT NOT NULL,
  status TEXT NOT NULL CONSTRAINT outages_status CHECK (status IN ('ongoing', 'resolved'))
) STRICT, WITHOUT ROWID;

CREATE TABLE number_ports (
  port_id TEXT NOT NULL PRIMARY KEY,
  line_id TEXT NOT NULL REFERENCES lines (line_id),
  direction TEXT NOT NULL CONSTRAINT number_ports_direction CHECK (direction IN ('in', 'out')),
  carrier TEXT NOT NULL,
  status TEXT NOT NULL CONSTRAINT number_ports_status CHECK (status IN ('requested', 'completed', 'cancelled', 'rejected')),
  requested_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE transfers (
  transfer_id TEXT NOT NULL PRIMARY KEY,
  queue TEXT NOT NULL CONSTRAINT transfers_queue CHECK (queue IN ('supervisor', 'fraud', 'technical', 'retention', 'general')),
  summary TEXT NOT NULL,
  transferred_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
