-- The tree of tenancy, and the part of it that exists from the start, so that a
-- single team never sees the tree. Times are nanoseconds since 1970 in UTC in
-- every table; NULL is no time.
CREATE TABLE orgs (
  id         TEXT COLLATE "C" PRIMARY KEY,
  name       TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE TABLE teams (
  id         TEXT COLLATE "C" PRIMARY KEY,
  org_id     TEXT COLLATE "C" NOT NULL REFERENCES orgs (id),
  name       TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE TABLE projects (
  id         TEXT COLLATE "C" PRIMARY KEY,
  team_id    TEXT COLLATE "C" NOT NULL REFERENCES teams (id),
  name       TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE TABLE users (
  id         TEXT COLLATE "C" PRIMARY KEY,
  org_id     TEXT COLLATE "C" NOT NULL REFERENCES orgs (id),
  name       TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);
INSERT INTO orgs (id, name, created_at) VALUES ('default', 'default', 0);
INSERT INTO teams (id, org_id, name, created_at) VALUES ('default', 'default', 'default', 0);
INSERT INTO projects (id, team_id, name, created_at) VALUES ('default', 'default', 'default', 0);
