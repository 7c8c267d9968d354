-- What people set on nodes, as its JSON; a row makes the node known.
CREATE TABLE nodes (
  id       TEXT COLLATE "C" PRIMARY KEY,
  data     TEXT COLLATE "C" NOT NULL,
  revision BIGINT NOT NULL
);
