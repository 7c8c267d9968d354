-- How nodes come in and are put out: the cluster's authority, one-time tokens,
-- certificates issued, nodes revoked.
CREATE TABLE authority (
  id         BIGINT PRIMARY KEY CHECK (id = 1),
  cert_pem   TEXT COLLATE "C" NOT NULL,
  key_pem    TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE TABLE join_tokens (
  id         TEXT COLLATE "C" PRIMARY KEY,
  hash       TEXT COLLATE "C" NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  used_by    TEXT COLLATE "C" NOT NULL,
  used_at    BIGINT,
  revoked_at BIGINT
);
CREATE TABLE certificates (
  serial     TEXT COLLATE "C" PRIMARY KEY,
  node       TEXT COLLATE "C" NOT NULL,
  issued_at  BIGINT,
  expires_at BIGINT,
  revoked_at BIGINT
);
CREATE INDEX certificates_node ON certificates (node);
CREATE TABLE revocations (
  node TEXT COLLATE "C" PRIMARY KEY,
  at   BIGINT NOT NULL
);
