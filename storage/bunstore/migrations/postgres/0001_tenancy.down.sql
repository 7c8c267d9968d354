DROP TABLE users;
DROP TABLE projects;
DROP TABLE teams;
DROP TABLE orgs;
