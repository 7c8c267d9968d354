-- Definitions that were added over the API, as their JSON.
CREATE TABLE models (
  name       TEXT PRIMARY KEY,
  data       TEXT NOT NULL,
  revision   BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  updated_by TEXT NOT NULL
);
