-- Who leads, and what the leader has ordered.
CREATE TABLE leases (
  name       TEXT PRIMARY KEY,
  holder     TEXT NOT NULL,
  epoch      BIGINT NOT NULL,
  expires_at BIGINT
);
INSERT INTO leases (name, holder, epoch) VALUES ('leader', '', 0);
CREATE TABLE assignments (
  replica TEXT PRIMARY KEY,
  model   TEXT NOT NULL,
  data    TEXT NOT NULL,
  epoch   BIGINT NOT NULL
);
CREATE TABLE model_memory (
  model TEXT PRIMARY KEY,
  data  BLOB NOT NULL,
  epoch BIGINT NOT NULL
);
