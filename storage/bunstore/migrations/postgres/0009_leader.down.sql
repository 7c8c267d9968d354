DROP TABLE model_memory;
DROP TABLE assignments;
DROP TABLE leases;
