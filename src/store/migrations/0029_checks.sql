-- Bad data was published and found later. A pipeline now has checks: rules about the rows of a batch, which are
-- evaluated before anything is visible, and about the mart. Results are kept with the run history.
-- Compatible: an older runner ignores checks and writes every row. Upgrade every runner before you rely on them.

ALTER TABLE etl.etl_pipelines
  ADD COLUMN checks jsonb NOT NULL DEFAULT '[]'
    CONSTRAINT etl_pipelines_checks_check CHECK (jsonb_typeof(checks) = 'array');
COMMENT ON COLUMN etl.etl_pipelines.checks IS
  'Data checks: a list of objects with name, type, on_failure and the fields of the type.';
CREATE TRIGGER version_checks BEFORE UPDATE OF checks ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.checks IS DISTINCT FROM NEW.checks) EXECUTE FUNCTION etl.version_pipeline();

ALTER TABLE etl.etl_quarantine ADD COLUMN check_name text;
COMMENT ON COLUMN etl.etl_quarantine.check_name IS 'The check that the row failed. NULL: the target rejected it.';

CREATE TABLE etl.etl_check_results (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  pipeline_id uuid NOT NULL REFERENCES etl.etl_pipelines ON DELETE CASCADE,
  run_id      uuid REFERENCES etl.etl_runs ON DELETE CASCADE,
  check_name  text NOT NULL,
  check_type  text NOT NULL,
  scope       text NOT NULL CONSTRAINT etl_check_results_scope_check CHECK (scope IN ('batch', 'mart')),
  on_failure  text NOT NULL,
  status      text NOT NULL
    CONSTRAINT etl_check_results_status_check CHECK (status IN ('passed', 'warned', 'quarantined', 'failed', 'error')),
  failed_rows bigint NOT NULL DEFAULT 0,
  sample      text[] NOT NULL DEFAULT '{}',
  observed    float8,
  message     text NOT NULL DEFAULT '',
  checked_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  duration_ms float8 NOT NULL DEFAULT 0,
  by_batch    jsonb NOT NULL DEFAULT '{}',
  CONSTRAINT etl_check_results_once UNIQUE (run_id, check_name)
);
COMMENT ON TABLE etl.etl_check_results IS 'What each check of a run found, one row for each check. Removed with the run.';
COMMENT ON COLUMN etl.etl_check_results.run_id IS 'NULL: the check was requested without a run.';
COMMENT ON COLUMN etl.etl_check_results.scope IS 'batch: the rows of each batch before they were written. mart: all rows of the mart.';
COMMENT ON COLUMN etl.etl_check_results.status IS 'error: the check could not be evaluated; message says why.';
COMMENT ON COLUMN etl.etl_check_results.sample IS 'Keys of rows that failed, at most five.';
COMMENT ON COLUMN etl.etl_check_results.observed IS 'What was compared with the limits: a number of rows, or an age in seconds.';
COMMENT ON COLUMN etl.etl_check_results.by_batch IS
  'Failed rows by batch, so that a batch that is repeated after a crash does not count twice. 0: all earlier batches.';
CREATE INDEX etl_check_results_by_check ON etl.etl_check_results (pipeline_id, check_name, id DESC);
CREATE INDEX etl_check_results_alone ON etl.etl_check_results (checked_at) WHERE run_id IS NULL;

-- Adds what the checks of a batch, of a part or of the mart found to the results of a run. `batch` is the number of the
-- batch; null: the mart. Only the last batch can be repeated, so that the earlier ones are added up; any part can be.
CREATE FUNCTION etl.record_checks(pipeline uuid, holder bigint, run uuid, batch text, is_part boolean, results jsonb)
RETURNS boolean LANGUAGE plpgsql SET search_path TO 'pg_catalog', 'pg_temp' AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM etl.etl_pipelines p WHERE p.id = pipeline AND p.fence = holder AND p.current_run_id = run) THEN
    RETURN false;
  END IF;
  INSERT INTO etl.etl_check_results AS r (pipeline_id, run_id, check_name, check_type, scope, on_failure, status, failed_rows,
                                          sample, observed, message, duration_ms, by_batch)
  SELECT pipeline, run, n.name, n.type, n.over, n."onFailure", n.status, n."failedRows",
         coalesce(ARRAY(SELECT jsonb_array_elements_text(n.sample)), '{}'), n.observed, n.message, n."durationMs",
         CASE WHEN n."failedRows" = 0 OR batch IS NULL THEN '{}' ELSE jsonb_build_object(batch, n."failedRows") END
    FROM jsonb_to_recordset(results) AS n(name text, type text, over text, "onFailure" text, status text, "failedRows" bigint,
                                          sample jsonb, observed float8, message text, "durationMs" float8)
   ORDER BY n.name
  ON CONFLICT (run_id, check_name) DO UPDATE SET
    check_type = excluded.check_type, scope = excluded.scope, on_failure = excluded.on_failure,
    checked_at = clock_timestamp(), observed = excluded.observed, duration_ms = r.duration_ms + excluded.duration_ms,
    by_batch = CASE WHEN is_part OR batch IS NULL THEN r.by_batch || excluded.by_batch
                    ELSE jsonb_build_object('0', (SELECT coalesce(sum(e.value::bigint), 0)
                                                    FROM jsonb_each_text(r.by_batch - batch) AS e)) || excluded.by_batch END,
    failed_rows = CASE WHEN excluded.scope = 'mart' THEN excluded.failed_rows
                       ELSE (SELECT coalesce(sum(e.value::bigint), 0) FROM jsonb_each_text(
                               CASE WHEN batch IS NULL THEN r.by_batch ELSE (r.by_batch - batch) || excluded.by_batch END) AS e) END,
    sample = CASE WHEN excluded.scope = 'mart' THEN excluded.sample
                  ELSE ARRAY(SELECT k FROM unnest(r.sample || excluded.sample) WITH ORDINALITY AS s(k, place)
                              GROUP BY k ORDER BY min(place) LIMIT 5) END,
    message = CASE WHEN excluded.scope = 'mart' OR r.message = '' THEN excluded.message ELSE r.message END,
    -- A check of rows keeps the worst of its results.
    status = CASE WHEN excluded.scope = 'batch' AND array_position(ARRAY['passed', 'warned', 'quarantined', 'failed', 'error'], r.status)
                       > array_position(ARRAY['passed', 'warned', 'quarantined', 'failed', 'error'], excluded.status)
                  THEN r.status ELSE excluded.status END;
  RETURN true;
END $$;
COMMENT ON FUNCTION etl.record_checks(uuid, bigint, uuid, text, boolean, jsonb) IS
  'Adds results of checks to those of a run that is held with this fence. False: another runner holds it.';

CREATE FUNCTION etl.tell_of_check() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp' AS $$
DECLARE
  facts jsonb := jsonb_build_object('check', NEW.check_name, 'type', NEW.check_type, 'status', NEW.status,
                                    'failed_rows', NEW.failed_rows, 'message', NEW.message);
BEGIN
  PERFORM etl.emit('check.failed', NEW.pipeline_id, NEW.run_id, facts);
  PERFORM etl.notify(ARRAY['check_failed'], NEW.pipeline_id, NEW.run_id, NEW.check_name,
                     facts || jsonb_build_object('on_failure', NEW.on_failure, 'sample', to_jsonb(NEW.sample)));
  RETURN NULL;
END $$;
-- Once for each check of a run: later batches only add to its numbers.
CREATE TRIGGER tell_of_failed_check AFTER INSERT ON etl.etl_check_results
  FOR EACH ROW WHEN (NEW.status <> 'passed') EXECUTE FUNCTION etl.tell_of_check();
CREATE TRIGGER tell_of_check_that_fails_now AFTER UPDATE ON etl.etl_check_results
  FOR EACH ROW WHEN (OLD.status = 'passed' AND NEW.status <> 'passed') EXECUTE FUNCTION etl.tell_of_check();
