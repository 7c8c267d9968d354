-- Client keys and admin tokens, hashed. models and cidrs are JSON lists; NULL is
-- no limit, which an empty list is not.
CREATE TABLE keys (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  project_id TEXT NOT NULL REFERENCES projects (id),
  user_id    TEXT NOT NULL,
  hash       TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  last_used  BIGINT,
  models     TEXT,
  cidrs      TEXT
);
CREATE TABLE admin_tokens (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  role       TEXT NOT NULL,
  hash       TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT
);
