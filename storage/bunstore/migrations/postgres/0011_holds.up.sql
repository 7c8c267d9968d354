-- Places of the building that are held.
CREATE TABLE holds (
  domain TEXT COLLATE "C" PRIMARY KEY,
  data   TEXT COLLATE "C" NOT NULL
);
