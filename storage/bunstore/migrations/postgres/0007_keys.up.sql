-- Client keys and admin tokens, hashed. models and cidrs are JSON lists; NULL is
-- no limit, which an empty list is not.
CREATE TABLE keys (
  id         TEXT COLLATE "C" PRIMARY KEY,
  name       TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
  user_id    TEXT COLLATE "C" NOT NULL,
  hash       TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  last_used  BIGINT,
  models     TEXT COLLATE "C",
  cidrs      TEXT COLLATE "C"
);
CREATE TABLE admin_tokens (
  id         TEXT COLLATE "C" PRIMARY KEY,
  name       TEXT COLLATE "C" NOT NULL,
  role       TEXT COLLATE "C" NOT NULL,
  hash       TEXT COLLATE "C" NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT
);
