-- One row for every request. No row refers to another table by a foreign key: a
-- request that was served is counted, whatever has become of its key.
CREATE TABLE usage_rows (
  id                TEXT COLLATE "C" PRIMARY KEY,
  at                BIGINT NOT NULL,
  key_id            TEXT COLLATE "C" NOT NULL,
  user_id           TEXT COLLATE "C" NOT NULL,
  project_id        TEXT COLLATE "C" NOT NULL,
  model             TEXT COLLATE "C" NOT NULL,
  served_model      TEXT COLLATE "C" NOT NULL,
  replica           TEXT COLLATE "C" NOT NULL,
  endpoint          TEXT COLLATE "C" NOT NULL,
  stream            BOOLEAN NOT NULL,
  status            BIGINT NOT NULL,
  outcome           TEXT COLLATE "C" NOT NULL,
  latency_ns        BIGINT NOT NULL,
  queued_ns         BIGINT NOT NULL,
  first_byte_ns     BIGINT NOT NULL,
  prompt_tokens     BIGINT NOT NULL,
  cached_tokens     BIGINT NOT NULL,
  completion_tokens BIGINT NOT NULL,
  estimated         BOOLEAN NOT NULL,
  cost_micros       BIGINT NOT NULL,
  attempts          TEXT COLLATE "C",
  end_user          TEXT COLLATE "C" NOT NULL,
  tags              TEXT COLLATE "C"
);
CREATE INDEX usage_rows_at ON usage_rows (at);
