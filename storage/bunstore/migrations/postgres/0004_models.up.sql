-- Definitions that were added over the API, as their JSON.
CREATE TABLE models (
  name       TEXT COLLATE "C" PRIMARY KEY,
  data       TEXT COLLATE "C" NOT NULL,
  revision   BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  updated_by TEXT COLLATE "C" NOT NULL
);
