-- A run is tried several times, and what an earlier attempt failed with must stay readable after the next one began; so
-- far the run kept the last error only. And a batch tells where its time went, so that a slow one can be explained.
-- Compatible: older runners leave both as they are.

ALTER TABLE etl.etl_runs ADD COLUMN attempts jsonb NOT NULL DEFAULT '[]';
COMMENT ON COLUMN etl.etl_runs.attempts IS 'The attempts before the present one, oldest first: how each ended, when, and on which runner.';

ALTER TABLE etl.etl_run_batches
  ADD COLUMN read_ms       double precision,
  ADD COLUMN transform_ms  double precision,
  ADD COLUMN write_ms      double precision,
  ADD COLUMN checkpoint_ms double precision;
COMMENT ON COLUMN etl.etl_run_batches.read_ms IS 'NULL where the database reads and writes in one statement.';
COMMENT ON COLUMN etl.etl_run_batches.transform_ms IS 'NULL where there are no transforms.';

-- When a pipeline runs next is news too: lists that are open show it without asking.
CREATE OR REPLACE FUNCTION etl.tell_of_pipeline() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM etl.emit('pipeline.created', NEW.id, NULL, jsonb_build_object('name', NEW.name));
  ELSIF TG_OP = 'DELETE' THEN
    PERFORM etl.emit('pipeline.deleted', OLD.id, NULL, jsonb_build_object('name', OLD.name));
  ELSIF OLD.status <> NEW.status THEN
    PERFORM etl.emit('pipeline.status', NEW.id, NEW.current_run_id,
                     jsonb_build_object('name', NEW.name, 'from', OLD.status, 'to', NEW.status,
                                        'next_run_at', etl.rfc3339(NEW.next_run_at)));
  ELSIF OLD.config_version <> NEW.config_version THEN
    PERFORM etl.emit('pipeline.changed', NEW.id, NULL,
                     jsonb_build_object('name', NEW.name, 'enabled', NEW.enabled, 'config_version', NEW.config_version));
  ELSE
    PERFORM etl.emit('pipeline.scheduled', NEW.id, NULL,
                     jsonb_build_object('name', NEW.name, 'next_run_at', etl.rfc3339(NEW.next_run_at)));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER tell_of_schedule AFTER UPDATE OF next_run_at ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.status = NEW.status AND OLD.config_version = NEW.config_version
                     AND OLD.next_run_at IS DISTINCT FROM NEW.next_run_at)
  EXECUTE FUNCTION etl.tell_of_pipeline();
