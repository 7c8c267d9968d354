DROP TABLE usage_rows;
