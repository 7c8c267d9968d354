-- Places of the building that are held.
CREATE TABLE holds (
  domain TEXT PRIMARY KEY,
  data   TEXT NOT NULL
);
