-- Who leads, and what the leader has ordered.
CREATE TABLE leases (
  name       TEXT COLLATE "C" PRIMARY KEY,
  holder     TEXT COLLATE "C" NOT NULL,
  epoch      BIGINT NOT NULL,
  expires_at BIGINT
);
INSERT INTO leases (name, holder, epoch) VALUES ('leader', '', 0);
CREATE TABLE assignments (
  replica TEXT COLLATE "C" PRIMARY KEY,
  model   TEXT COLLATE "C" NOT NULL,
  data    TEXT COLLATE "C" NOT NULL,
  epoch   BIGINT NOT NULL
);
CREATE TABLE model_memory (
  model TEXT COLLATE "C" PRIMARY KEY,
  data  BYTEA NOT NULL,
  epoch BIGINT NOT NULL
);
