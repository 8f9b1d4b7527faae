-- What the metrics read at every scrape, kept instead of counted: with a million runs of a thousand pipelines the count
-- took a second, and numbers that must only grow fell whenever old runs were removed. And the trace that a run belongs
-- to, so that what the runner does hangs below the request that asked for it.
-- Compatible: older runners ignore both; the totals grow whoever ends a run.

ALTER TABLE etl.etl_runs ADD COLUMN traceparent text CHECK (length(traceparent) <= 64);
COMMENT ON COLUMN etl.etl_runs.traceparent IS 'Where the run stands in a trace (W3C Trace Context). NULL: nobody named one.';

CREATE TABLE etl.etl_run_totals (
  pipeline_id      uuid PRIMARY KEY REFERENCES etl.etl_pipelines ON DELETE CASCADE,
  succeeded        bigint NOT NULL,
  failed           bigint NOT NULL,
  paused           bigint NOT NULL,
  cancelled        bigint NOT NULL,
  rows_read        bigint NOT NULL,
  rows_inserted    bigint NOT NULL,
  rows_updated     bigint NOT NULL,
  rows_unchanged   bigint NOT NULL,
  rows_deleted     bigint NOT NULL,
  rows_quarantined bigint NOT NULL,
  -- Of the runs that a runner began: how long they took together, and how many took how long. See etl.duration_place.
  seconds          double precision NOT NULL,
  durations        bigint[] NOT NULL,
  last_success     timestamptz
);
COMMENT ON TABLE etl.etl_run_totals IS 'What each pipeline did since it is there. Grows with every run that ends, and stays when runs are removed.';

-- The buckets of vitrina_run_duration_seconds (telemetry/families.ts holds the same bounds): the place of the first
-- bound that is not below, one more for what took longer than all.
CREATE FUNCTION etl.duration_place(seconds double precision) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT 1 + count(*)::integer
    FROM unnest('{0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14400}'::double precision[]) AS bound WHERE bound < seconds
$$;

INSERT INTO etl.etl_run_totals
SELECT pipeline_id, count(*) FILTER (WHERE status = 'SUCCESS'), count(*) FILTER (WHERE status = 'FAILED'),
       count(*) FILTER (WHERE status = 'PAUSED'), count(*) FILTER (WHERE status = 'CANCELLED'),
       sum(rows_read), sum(rows_inserted), sum(rows_updated), sum(rows_unchanged), sum(rows_deleted), sum(rows_quarantined),
       coalesce(sum(took), 0),
       -- Spelled out: the function would take ten times as long for a million runs.
       ARRAY[
             count(*) FILTER (WHERE took <= 0.1), count(*) FILTER (WHERE took > 0.1 AND took <= 0.5), count(*) FILTER (WHERE took > 0.5 AND took <= 1),
             count(*) FILTER (WHERE took > 1 AND took <= 5), count(*) FILTER (WHERE took > 5 AND took <= 15), count(*) FILTER (WHERE took > 15 AND took <= 60),
             count(*) FILTER (WHERE took > 60 AND took <= 300), count(*) FILTER (WHERE took > 300 AND took <= 900), count(*) FILTER (WHERE took > 900 AND took <= 3600),
             count(*) FILTER (WHERE took > 3600 AND took <= 14400), count(*) FILTER (WHERE took > 14400)],
       max(finished_at) FILTER (WHERE status = 'SUCCESS')
  FROM (SELECT *, date_part('epoch', finished_at - started_at) AS took FROM etl.etl_runs
         WHERE status IN ('SUCCESS', 'FAILED', 'PAUSED', 'CANCELLED')) AS ended
 GROUP BY pipeline_id;

CREATE FUNCTION etl.count_run() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  took double precision := date_part('epoch', NEW.finished_at - NEW.started_at);
  place integer := CASE WHEN took IS NULL THEN 0 ELSE etl.duration_place(took) END;
BEGIN
  INSERT INTO etl.etl_run_totals AS t
  VALUES (NEW.pipeline_id, (NEW.status = 'SUCCESS')::integer, (NEW.status = 'FAILED')::integer, (NEW.status = 'PAUSED')::integer,
          (NEW.status = 'CANCELLED')::integer, NEW.rows_read, NEW.rows_inserted, NEW.rows_updated, NEW.rows_unchanged,
          NEW.rows_deleted, NEW.rows_quarantined, coalesce(took, 0),
          ARRAY(SELECT (bucket = place)::integer::bigint FROM generate_series(1, 11) AS bucket),
          CASE NEW.status WHEN 'SUCCESS' THEN NEW.finished_at END)
  ON CONFLICT (pipeline_id) DO UPDATE SET
          succeeded = t.succeeded + excluded.succeeded, failed = t.failed + excluded.failed,
          paused = t.paused + excluded.paused, cancelled = t.cancelled + excluded.cancelled,
          rows_read = t.rows_read + excluded.rows_read, rows_inserted = t.rows_inserted + excluded.rows_inserted,
          rows_updated = t.rows_updated + excluded.rows_updated, rows_unchanged = t.rows_unchanged + excluded.rows_unchanged,
          rows_deleted = t.rows_deleted + excluded.rows_deleted, rows_quarantined = t.rows_quarantined + excluded.rows_quarantined,
          seconds = t.seconds + excluded.seconds,
          durations = ARRAY(SELECT n + (bucket = place)::integer FROM unnest(t.durations) WITH ORDINALITY AS had(n, bucket) ORDER BY bucket),
          last_success = greatest(t.last_success, excluded.last_success);
  RETURN NULL;
END $$;
CREATE TRIGGER count_new_run AFTER INSERT ON etl.etl_runs
  FOR EACH ROW WHEN (NEW.status IN ('SUCCESS', 'FAILED', 'PAUSED', 'CANCELLED')) EXECUTE FUNCTION etl.count_run();
CREATE TRIGGER count_run AFTER UPDATE OF status ON etl.etl_runs
  FOR EACH ROW WHEN (OLD.status IN ('REQUESTED', 'RUNNING') AND NEW.status IN ('SUCCESS', 'FAILED', 'PAUSED', 'CANCELLED'))
  EXECUTE FUNCTION etl.count_run();

-- As before, and a request keeps the trace that it belongs to.
CREATE OR REPLACE FUNCTION etl.move_pipeline() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT etl.is_transition(OLD.status, NEW.status) THEN
    RAISE EXCEPTION 'pipeline "%" cannot move from % to %', OLD.name, OLD.status, NEW.status
      USING ERRCODE = 'VT001',
            HINT = 'Allowed: IDLE, PAUSED or FAILED to RUN_REQUESTED; RUN_REQUESTED to RUNNING; '
                   'RUNNING to IDLE, FAILED or PAUSE_REQUESTED; PAUSE_REQUESTED to PAUSED.';
  END IF;

  IF NEW.status = 'RUN_REQUESTED' THEN
    NEW.requested_at := clock_timestamp();
    NEW.current_run_id := gen_random_uuid();
    INSERT INTO etl.etl_runs (id, pipeline_id, config_version, trigger, traceparent)
    VALUES (NEW.current_run_id, NEW.id, NEW.config_version,
            coalesce(nullif(current_setting('vitrina.trigger', true), ''), 'sql'),
            nullif(current_setting('vitrina.traceparent', true), ''));
    PERFORM pg_notify('vitrina_run_requested', NEW.id::text);
  ELSIF NEW.status IN ('IDLE', 'PAUSED', 'FAILED') THEN
    NEW.lease_owner := NULL;
    NEW.lease_until := NULL;
    -- A runner ends its run before it lets go of the pipeline. A run that is still open was cut off by hand:
    -- it is closed, and the fence moves on, so that the runner that still works on it cannot commit any more.
    UPDATE etl.etl_runs
       SET status = CASE NEW.status WHEN 'IDLE' THEN 'CANCELLED' ELSE NEW.status END,
           finished_at = clock_timestamp(),
           error = format('The pipeline was set to %s by hand.', NEW.status)
     WHERE id = OLD.current_run_id AND status IN ('REQUESTED', 'RUNNING');
    IF FOUND THEN
      NEW.fence := OLD.fence + 1;
    END IF;
  END IF;
  RETURN NEW;
END $$;
