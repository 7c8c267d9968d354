-- What is written to learn whether there is space again, and removed at once.
CREATE TABLE probes (
  id   BIGINT PRIMARY KEY,
  data BYTEA NOT NULL
);
