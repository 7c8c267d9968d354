-- What people set on nodes, as its JSON; a row makes the node known.
CREATE TABLE nodes (
  id       TEXT PRIMARY KEY,
  data     TEXT NOT NULL,
  revision BIGINT NOT NULL
);
