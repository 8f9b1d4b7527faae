-- What the last comparison of each mart with its source found: one of counts and one of all rows for each pipeline, so
-- that a fleet can be looked at without comparing everything again. Events tell of it, and of rows of the quarantine
-- that somebody settled, to everybody who looks.
-- Compatible: runners know nothing of the table, and settle rows of the quarantine as before.

CREATE TABLE etl.etl_comparisons (
  pipeline_id    uuid NOT NULL REFERENCES etl.etl_pipelines (id) ON DELETE CASCADE,
  deep           boolean NOT NULL,
  at             timestamptz NOT NULL DEFAULT clock_timestamp(),
  duration_ms    double precision NOT NULL,
  config_version integer NOT NULL,
  matches        boolean NOT NULL,
  source_rows    bigint NOT NULL,
  target_rows    bigint NOT NULL,
  missing        bigint NOT NULL DEFAULT 0,
  extra          bigint NOT NULL DEFAULT 0,
  different      bigint NOT NULL DEFAULT 0,
  on_their_way   bigint NOT NULL DEFAULT 0,
  undecided      bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (pipeline_id, deep)
);

CREATE FUNCTION etl.tell_of_comparison() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM etl.emit('pipeline.compared', NEW.pipeline_id, NULL,
                   to_jsonb(NEW) - 'pipeline_id' || jsonb_build_object('at', etl.rfc3339(NEW.at)));
  RETURN NULL;
END $$;
CREATE TRIGGER tell_of_comparison AFTER INSERT OR UPDATE ON etl.etl_comparisons
  FOR EACH ROW EXECUTE FUNCTION etl.tell_of_comparison();

-- One event for each pipeline, however many rows a statement settles.
CREATE FUNCTION etl.tell_of_quarantine() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM etl.emit('quarantine.settled', settled.pipeline_id, NULL,
                   jsonb_build_object('rows', settled.count, 'released', settled.released))
     FROM (SELECT after.pipeline_id, count(*), count(*) FILTER (WHERE before.status = 'HELD') AS released
             FROM before JOIN after USING (id) WHERE before.status <> after.status GROUP BY after.pipeline_id) settled;
  RETURN NULL;
END $$;
CREATE TRIGGER tell_of_quarantine AFTER UPDATE ON etl.etl_quarantine
  REFERENCING OLD TABLE AS before NEW TABLE AS after
  FOR EACH STATEMENT EXECUTE FUNCTION etl.tell_of_quarantine();
