-- One row for every request. No row refers to another table by a foreign key: a
-- request that was served is counted, whatever has become of its key.
CREATE TABLE usage_rows (
  id                TEXT PRIMARY KEY,
  at                BIGINT NOT NULL,
  key_id            TEXT NOT NULL,
  user_id           TEXT NOT NULL,
  project_id        TEXT NOT NULL,
  model             TEXT NOT NULL,
  served_model      TEXT NOT NULL,
  replica           TEXT NOT NULL,
  endpoint          TEXT NOT NULL,
  stream            BOOLEAN NOT NULL,
  status            BIGINT NOT NULL,
  outcome           TEXT NOT NULL,
  latency_ns        BIGINT NOT NULL,
  queued_ns         BIGINT NOT NULL,
  first_byte_ns     BIGINT NOT NULL,
  prompt_tokens     BIGINT NOT NULL,
  cached_tokens     BIGINT NOT NULL,
  completion_tokens BIGINT NOT NULL,
  estimated         BOOLEAN NOT NULL,
  cost_micros       BIGINT NOT NULL,
  attempts          TEXT,
  end_user          TEXT NOT NULL,
  tags              TEXT
);
CREATE INDEX usage_rows_at ON usage_rows (at);
