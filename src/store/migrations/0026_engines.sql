-- engine: spark executes the parts of a run on a Spark cluster instead of in runners. The ledger stays the same.
-- Compatible: an older runner executes such a pipeline itself, and may take parts that Spark would execute.

ALTER TABLE etl.etl_pipelines
  ADD COLUMN engine text NOT NULL DEFAULT 'local'
    CONSTRAINT etl_pipelines_engine_check CHECK (engine IN ('local', 'spark')),
  ADD COLUMN engine_options jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT etl_pipelines_engine_options_check CHECK (jsonb_typeof(engine_options) = 'object');
COMMENT ON COLUMN etl.etl_pipelines.engine IS 'What executes the parts of a run: runners (local), or a Spark cluster.';
COMMENT ON COLUMN etl.etl_pipelines.engine_options IS
  'Options of the engine: the name of a profile. Addresses and secrets are settings of the deployment.';

CREATE TRIGGER version_engine BEFORE UPDATE OF engine, engine_options ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.engine IS DISTINCT FROM NEW.engine OR OLD.engine_options IS DISTINCT FROM NEW.engine_options)
  EXECUTE FUNCTION etl.version_pipeline();

ALTER TABLE etl.etl_run_parts ADD COLUMN by_runner boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN etl.etl_run_parts.by_runner IS
  'A runner executes the part although its run has another engine: a function failed, or the mart rejected a row.';

-- Parts that Spark executes need no runner.
CREATE OR REPLACE FUNCTION etl.runner_demand(tag text DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  -- One tag, or a list of slots as in RUNNER_TAGS.
  slots jsonb := CASE WHEN strpos(tag, ':') = 0 THEN jsonb_build_object(tag, 1)
                      WHEN tag IS NOT NULL THEN (
                        SELECT jsonb_object_agg(btrim(split_part(entry, ':', 1)), btrim(split_part(entry, ':', 2))::integer)
                          FROM unnest(string_to_array(tag, ',')) AS entry WHERE btrim(entry) <> '') END;
  demand bigint;
  parts bigint;
BEGIN
  SELECT count(*) INTO demand FROM etl.etl_pipelines p
   WHERE p.status IN ('RUN_REQUESTED', 'RUNNING', 'PAUSE_REQUESTED') AND (p.enabled OR p.status <> 'RUN_REQUESTED')
     AND etl.runner_takes(slots, p.tags);
  SELECT count(*) INTO parts FROM etl.etl_pipelines p JOIN etl.etl_run_parts x ON x.run_id = p.current_run_id
   WHERE p.status IN ('RUNNING', 'PAUSE_REQUESTED') AND x.status IN ('PENDING', 'RUNNING')
     AND (p.engine = 'local' OR x.by_runner) AND etl.runner_takes(slots, p.tags);
  RETURN demand + parts;
END $$;
