-- What only one kind of target knows: how Elasticsearch writes a document, by which column files are parted.
-- Compatible: older runners ignore the column; they know no target that would need it.

ALTER TABLE etl.etl_pipelines ADD COLUMN target_options jsonb NOT NULL DEFAULT '{}'
  CHECK (jsonb_typeof(target_options) = 'object');

-- As before, and the options too belong to what a run was begun with.
CREATE OR REPLACE FUNCTION etl.version_pipeline() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF OLD.status IN ('RUNNING', 'PAUSE_REQUESTED') AND
     ROW(OLD.source_query, OLD.source_connection, OLD.target_table, OLD.target_connection, OLD.target_options, OLD.mode,
         OLD.full_strategy, OLD.incremental_key, OLD.incremental_id_key, OLD.capture, OLD.deletes, OLD.key_columns, OLD.type,
         OLD.source_type)
     IS DISTINCT FROM
     ROW(NEW.source_query, NEW.source_connection, NEW.target_table, NEW.target_connection, NEW.target_options, NEW.mode,
         NEW.full_strategy, NEW.incremental_key, NEW.incremental_id_key, NEW.capture, NEW.deletes, NEW.key_columns, NEW.type,
         NEW.source_type)
  THEN
    RAISE EXCEPTION 'pipeline "%" is %: its query, target, mode and keys cannot change now', OLD.name, OLD.status
      USING ERRCODE = 'VT002', HINT = 'Pause it or wait until it is IDLE, then change it.';
  END IF;
  IF NEW.schedule_interval IS DISTINCT FROM OLD.schedule_interval
     OR NEW.schedule_timezone IS DISTINCT FROM OLD.schedule_timezone THEN
    NEW.next_run_at := NULL;
  END IF;
  IF OLD.config_xact IS DISTINCT FROM pg_current_xact_id() THEN
    NEW.config_version := OLD.config_version + 1;
    NEW.config_xact := pg_current_xact_id();
  END IF;
  NEW.updated_at := clock_timestamp();
  RETURN NEW;
END $$;

CREATE TRIGGER version_target_options BEFORE UPDATE OF target_options ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.target_options IS DISTINCT FROM NEW.target_options) EXECUTE FUNCTION etl.version_pipeline();
