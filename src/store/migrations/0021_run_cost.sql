-- What a run cost the databases that it worked with.
-- Compatible: older runners leave it empty.
ALTER TABLE etl.etl_runs
  ADD COLUMN cost_blocks_read bigint,
  ADD COLUMN cost_wal_bytes bigint;
COMMENT ON COLUMN etl.etl_runs.cost_blocks_read IS
  'Blocks of tables and indexes that the sessions of the run accessed, in memory or on disk. NULL: the servers do not report it (before PostgreSQL 18).';
COMMENT ON COLUMN etl.etl_runs.cost_wal_bytes IS 'Bytes of WAL that the sessions of the run wrote.';
