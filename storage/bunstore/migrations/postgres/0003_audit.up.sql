-- The log of every change, chained by hashes. The head stands apart, so that
-- events cut off at the end are missed.
CREATE TABLE audit (
  seq         BIGINT PRIMARY KEY,
  at          BIGINT NOT NULL,
  principal   TEXT COLLATE "C" NOT NULL,
  claimed     TEXT COLLATE "C" NOT NULL,
  action      TEXT COLLATE "C" NOT NULL,
  object      TEXT COLLATE "C" NOT NULL,
  before_json TEXT COLLATE "C" NOT NULL,
  after_json  TEXT COLLATE "C" NOT NULL,
  request_id  TEXT COLLATE "C" NOT NULL,
  reason      TEXT COLLATE "C" NOT NULL,
  hash        TEXT COLLATE "C" NOT NULL
);
CREATE INDEX audit_object ON audit (object, seq);
CREATE INDEX audit_principal ON audit (principal, seq);
CREATE TABLE audit_head (
  id   BIGINT PRIMARY KEY CHECK (id = 1),
  seq  BIGINT NOT NULL,
  hash TEXT COLLATE "C" NOT NULL
);
INSERT INTO audit_head (id, seq, hash) VALUES (1, 0, '');
