-- How nodes come in and are put out: the cluster's authority, one-time tokens,
-- certificates issued, nodes revoked.
CREATE TABLE authority (
  id         BIGINT PRIMARY KEY CHECK (id = 1),
  cert_pem   TEXT NOT NULL,
  key_pem    TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE TABLE join_tokens (
  id         TEXT PRIMARY KEY,
  hash       TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  used_by    TEXT NOT NULL,
  used_at    BIGINT,
  revoked_at BIGINT
);
CREATE TABLE certificates (
  serial     TEXT PRIMARY KEY,
  node       TEXT NOT NULL,
  issued_at  BIGINT,
  expires_at BIGINT,
  revoked_at BIGINT
);
CREATE INDEX certificates_node ON certificates (node);
CREATE TABLE revocations (
  node TEXT PRIMARY KEY,
  at   BIGINT NOT NULL
);
