-- Numbers that only rise: the last revision given to a row, and the number the
-- next replica gets.
CREATE TABLE counters (
  name  TEXT COLLATE "C" PRIMARY KEY,
  value BIGINT NOT NULL
);
INSERT INTO counters (name, value) VALUES ('revision', 0), ('replica', 1);
