DROP TABLE revocations;
DROP TABLE certificates;
DROP TABLE join_tokens;
DROP TABLE authority;
