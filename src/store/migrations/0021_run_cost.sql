-- What a run cost the databases that it worked with; and a pipeline that stops to capture changes from the write-ahead log
-- releases the change log, so that the last one takes the slot with it.
-- Compatible: older runners leave the cost empty.
ALTER TABLE etl.etl_runs
  ADD COLUMN cost_blocks_read bigint,
  ADD COLUMN cost_wal_bytes bigint;
COMMENT ON COLUMN etl.etl_runs.cost_blocks_read IS
  'Blocks of tables and indexes that the sessions of the run accessed, in memory or on disk. NULL: the servers do not report it (before PostgreSQL 18).';
COMMENT ON COLUMN etl.etl_runs.cost_wal_bytes IS 'Bytes of WAL that the sessions of the run wrote.';

CREATE FUNCTION etl.release_changes() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  released integer;
BEGIN
  FOR released IN DELETE FROM etl.etl_change_positions WHERE pipeline_id = NEW.id RETURNING head LOOP
    PERFORM pg_notify('vitrina_changes_wanted', released::text);
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER release_changes AFTER UPDATE OF capture, mode, source_connection ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.capture = 'wal' AND (NEW.capture <> 'wal' OR NEW.mode <> 'incremental'
    OR OLD.source_connection IS DISTINCT FROM NEW.source_connection))
  EXECUTE FUNCTION etl.release_changes();
