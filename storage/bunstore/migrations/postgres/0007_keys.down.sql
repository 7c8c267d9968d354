DROP TABLE admin_tokens;
DROP TABLE keys;
