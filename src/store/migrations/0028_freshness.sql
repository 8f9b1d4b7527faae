-- freshness may be a duration: the data of the mart is to be at most that old, and the runners decide when to run.
-- etl_freshness knows for each pipeline how old its data is, when the next run is due, and whether it is too old.
-- Compatible: an older runner neither requests these runs nor prevents a newer one from doing so.

CREATE FUNCTION etl.duration_seconds(duration text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  SELECT sum(part[1]::bigint * CASE part[2] WHEN 's' THEN 1 WHEN 'm' THEN 60 WHEN 'h' THEN 3600 ELSE 86400 END)::bigint
    FROM regexp_matches(duration, '([0-9]+)([smhd])', 'g') AS part
   WHERE duration ~ '^([0-9]{1,9}[smhd]){1,4}$'
$$;
COMMENT ON FUNCTION etl.duration_seconds(text) IS 'The seconds of a duration such as 90s, 5m or 1h30m; NULL if it is not one.';

DROP INDEX etl.etl_pipelines_live;
ALTER TABLE etl.etl_pipelines
  DROP CONSTRAINT etl_pipelines_freshness_check,
  ADD CONSTRAINT etl_pipelines_freshness_check
    CHECK (freshness = 'live' OR (etl.duration_seconds(freshness) BETWEEN 1 AND 31622400) IS TRUE OR freshness IS NULL);
CREATE INDEX etl_pipelines_live ON etl.etl_pipelines (id) WHERE freshness = 'live';
COMMENT ON COLUMN etl.etl_pipelines.freshness IS
  'live: with capture wal, a run stays up and applies each commit of the source at once. A duration such as 5m: how old the data may become; the runners decide when to run. NULL: on schedule or on request.';

ALTER TABLE etl.etl_runs ADD COLUMN data_as_of timestamptz;
COMMENT ON COLUMN etl.etl_runs.data_as_of IS
  'If the run succeeds, the mart contains everything that was committed in the source before this time.';

CREATE TABLE etl.etl_freshness (
  pipeline_id    uuid PRIMARY KEY REFERENCES etl.etl_pipelines ON DELETE CASCADE,
  data_as_of     timestamptz,
  budget_seconds bigint,
  due_at         timestamptz,
  breached_at    timestamptz,
  cause          jsonb
);
COMMENT ON TABLE etl.etl_freshness IS 'How old the data of each mart is, and how old it may become.';
COMMENT ON COLUMN etl.etl_freshness.data_as_of IS
  'The mart contains everything that was committed in the source before this time. NULL: no run has succeeded.';
COMMENT ON COLUMN etl.etl_freshness.budget_seconds IS 'How old the data may become. NULL: no limit.';
COMMENT ON COLUMN etl.etl_freshness.due_at IS 'When a run has to be requested so that it ends in time.';
COMMENT ON COLUMN etl.etl_freshness.breached_at IS 'When an API noticed that the data is too old. NULL: it is not.';
COMMENT ON COLUMN etl.etl_freshness.cause IS 'Why it is too old, as noticed last.';
CREATE INDEX etl_freshness_due ON etl.etl_freshness (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX etl_freshness_breached ON etl.etl_freshness (pipeline_id) WHERE breached_at IS NOT NULL;

CREATE FUNCTION etl.usual_run_seconds(pipeline uuid) RETURNS double precision
LANGUAGE sql STABLE SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  -- With the time in the queue. The lower median: one long first load does not make every run look long.
  SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY date_part('epoch', r.finished_at - r.requested_at))
    FROM (SELECT finished_at, requested_at FROM etl.etl_runs WHERE pipeline_id = pipeline AND status = 'SUCCESS'
           ORDER BY requested_at DESC, id DESC LIMIT 5) r
$$;

CREATE FUNCTION etl.plan_freshness(pipeline uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  budget bigint := (SELECT etl.duration_seconds(p.freshness) FROM etl.etl_pipelines p WHERE p.id = pipeline);
  -- Early enough for a run that takes a quarter longer than usual, and for a tick of the runners.
  lead double precision := least(1 + 1.25 * coalesce(etl.usual_run_seconds(pipeline), 0), budget);
BEGIN
  INSERT INTO etl.etl_freshness AS f (pipeline_id, budget_seconds, due_at)
  VALUES (pipeline, budget, CASE WHEN budget IS NOT NULL THEN clock_timestamp() END)
  ON CONFLICT (pipeline_id) DO UPDATE
     SET budget_seconds = budget,
         due_at = CASE WHEN budget IS NULL THEN NULL
                       ELSE coalesce(f.data_as_of + make_interval(secs => budget - lead), clock_timestamp()) END;
END $$;
-- Only the triggers of this schema.
REVOKE EXECUTE ON FUNCTION etl.plan_freshness(uuid) FROM PUBLIC;

CREATE FUNCTION etl.plan_freshness_of_pipeline() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  PERFORM etl.plan_freshness(NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER plan_freshness AFTER INSERT ON etl.etl_pipelines
  FOR EACH ROW WHEN (NEW.freshness IS NOT NULL) EXECUTE FUNCTION etl.plan_freshness_of_pipeline();
CREATE TRIGGER plan_freshness_again AFTER UPDATE OF freshness ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.freshness IS DISTINCT FROM NEW.freshness) EXECUTE FUNCTION etl.plan_freshness_of_pipeline();

CREATE FUNCTION etl.date_run() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  -- A full pass that continues another one has not read its first rows again: its data is as old as they are.
  SELECT r.data_as_of INTO NEW.data_as_of
    FROM etl.etl_pipelines p
    JOIN LATERAL (SELECT * FROM etl.etl_runs e WHERE e.pipeline_id = p.id AND e.id <> NEW.id
                   ORDER BY e.requested_at DESC, e.id DESC LIMIT 1) r ON true
   WHERE p.id = NEW.pipeline_id AND p.mode = 'full' AND r.status IN ('PAUSED', 'FAILED', 'CANCELLED')
     AND (r.batches > 0 OR r.parts_done > 0);
  NEW.data_as_of := coalesce(NEW.data_as_of, clock_timestamp());
  RETURN NEW;
END $$;
CREATE TRIGGER date_run BEFORE INSERT OR UPDATE OF status ON etl.etl_runs
  FOR EACH ROW WHEN (NEW.status = 'RUNNING' AND NEW.data_as_of IS NULL) EXECUTE FUNCTION etl.date_run();

CREATE FUNCTION etl.date_mart() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  IF NEW.status = 'SUCCESS' THEN
    INSERT INTO etl.etl_freshness AS f (pipeline_id, data_as_of) VALUES (NEW.pipeline_id, NEW.data_as_of)
    ON CONFLICT (pipeline_id) DO UPDATE SET data_as_of = greatest(f.data_as_of, excluded.data_as_of);
  END IF;
  IF EXISTS (SELECT FROM etl.etl_pipelines WHERE id = NEW.pipeline_id AND freshness IS NOT NULL) THEN
    PERFORM etl.plan_freshness(NEW.pipeline_id);
    -- A run that was cancelled is not requested again at once.
    IF NEW.status = 'CANCELLED' THEN
      UPDATE etl.etl_freshness SET due_at = greatest(due_at, clock_timestamp() + make_interval(secs => budget_seconds))
       WHERE pipeline_id = NEW.pipeline_id AND due_at IS NOT NULL;
    END IF;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER date_mart AFTER UPDATE OF status ON etl.etl_runs
  FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status AND NEW.status IN ('SUCCESS', 'CANCELLED'))
  EXECUTE FUNCTION etl.date_mart();

-- What is known from the history.
UPDATE etl.etl_runs SET data_as_of = started_at WHERE started_at IS NOT NULL AND status IN ('RUNNING', 'SUCCESS');
INSERT INTO etl.etl_freshness (pipeline_id, data_as_of)
SELECT pipeline_id, max(started_at) FROM etl.etl_runs WHERE status = 'SUCCESS' GROUP BY 1;

CREATE FUNCTION etl.data_as_of(pipeline uuid) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  -- A live pipeline: everything up to the end of the change log if it has applied it, else up to its position.
  SELECT greatest(f.data_as_of, live.as_of)
    FROM etl.etl_pipelines p
    LEFT JOIN etl.etl_freshness f ON f.pipeline_id = p.id
    LEFT JOIN LATERAL (
      SELECT CASE WHEN o.end_lsn >= h.upto THEN greatest(h.updated_at, o.updated_at) ELSE o.updated_at END AS as_of
        FROM etl.etl_change_positions o JOIN etl.etl_change_heads h ON h.id = o.head
       WHERE o.pipeline_id = p.id AND o.generation = h.generation AND o.end_lsn > '0/0'
         AND h.connection = etl.source_side(p.source_connection)) live
      ON p.freshness = 'live' AND p.mode = 'incremental' AND p.capture = 'wal'
   WHERE p.id = pipeline
$$;
COMMENT ON FUNCTION etl.data_as_of(uuid) IS
  'The mart of the pipeline contains everything that was committed in its source before this time. NULL: nothing is known.';

CREATE FUNCTION etl.staleness(pipeline uuid) RETURNS jsonb
LANGUAGE sql STABLE SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  WITH facts AS (
    SELECT p.*, a.run, l.run AS last, w.waiting, f.data_as_of AS as_of,
           coalesce(a.run, l.run) AS shown,
           (SELECT count(*) FROM etl.etl_runners x
             WHERE x.stopped_at IS NULL AND x.heartbeat_at > clock_timestamp() - interval '15 seconds') AS runners
      FROM etl.etl_pipelines p
      LEFT JOIN etl.etl_freshness f ON f.pipeline_id = p.id
      LEFT JOIN LATERAL (SELECT to_jsonb(r) || jsonb_build_object('requested_at', etl.rfc3339(r.requested_at), 'started_at', etl.rfc3339(r.started_at),
                                  'seconds', date_part('epoch', clock_timestamp() - r.started_at)) AS run
                           FROM etl.etl_runs r WHERE r.id = p.current_run_id AND r.status IN ('REQUESTED', 'RUNNING')) a ON true
      LEFT JOIN LATERAL (SELECT to_jsonb(r) || jsonb_build_object('finished_at', etl.rfc3339(r.finished_at),
                                  'seconds', date_part('epoch', r.finished_at - r.started_at)) AS run
                           FROM etl.etl_runs r WHERE r.pipeline_id = p.id AND r.status NOT IN ('REQUESTED', 'RUNNING')
                          ORDER BY r.requested_at DESC, r.id DESC LIMIT 1) l ON true
      LEFT JOIN LATERAL (SELECT etl.why_waiting(p.id) AS waiting) w ON true
     WHERE p.id = pipeline
  ), phases AS (
    -- The phase that took most of the time of this run, or of the last one.
    SELECT phase.name, phase.ms / nullif(b.whole, 0) AS share
      FROM (SELECT sum(read_ms) AS read, sum(transform_ms) AS transform, sum(write_ms) AS write, sum(checkpoint_ms) AS checkpoint,
                   sum(duration_ms) AS whole
              FROM facts f JOIN etl.etl_run_batches x ON x.run_id = (f.shown ->> 'id')::uuid) b
     CROSS JOIN LATERAL (VALUES ('READ', b.read), ('TRANSFORM', b.transform), ('WRITE', b.write), ('CHECKPOINT', b.checkpoint)) AS phase(name, ms)
     WHERE phase.ms IS NOT NULL ORDER BY phase.ms DESC LIMIT 1
  ), head AS (
    SELECT h.error, h.error_code, h.leased_until, h.owner, h.lag_bytes, h.has_slot, h.lost FROM facts f
      JOIN etl.etl_change_heads h ON h.connection = etl.source_side(f.source_connection)
     WHERE f.capture = 'wal' AND f.mode = 'incremental'
  )
  SELECT CASE
    WHEN NOT f.enabled THEN jsonb_build_object('code', 'DISABLED')
    WHEN f.status = 'PAUSED' THEN jsonb_build_object('code', 'PAUSED', 'since', f.last ->> 'finished_at')
    WHEN f.status = 'FAILED' THEN jsonb_build_object(
      'code', CASE f.last ->> 'error_code' WHEN 'VTR-4102' THEN 'BRAKE' WHEN 'VTR-4101' THEN 'QUARANTINE' ELSE 'FAILED' END,
      'since', f.last ->> 'finished_at', 'run', f.last ->> 'id', 'errorCode', f.last ->> 'error_code', 'error', f.last ->> 'error',
      'hint', f.last ->> 'error_hint')
    WHEN f.runners = 0 THEN jsonb_build_object('code', 'NO_RUNNER', 'since', f.run ->> 'requested_at')
    WHEN f.waiting IS NOT NULL THEN f.waiting || jsonb_build_object('since', f.run ->> 'requested_at')
    WHEN f.status = 'RUN_REQUESTED' THEN jsonb_build_object('code', 'QUEUE', 'since', f.run ->> 'requested_at',
      'ahead', (SELECT count(*) FROM etl.etl_pipelines q WHERE q.status = 'RUN_REQUESTED' AND q.enabled AND q.requested_at < f.requested_at),
      'running', (SELECT count(*) FROM etl.etl_pipelines q WHERE q.status IN ('RUNNING', 'PAUSE_REQUESTED')))
    WHEN f.status = 'PAUSE_REQUESTED' THEN jsonb_build_object('code', 'PAUSING', 'since', f.run ->> 'started_at')
    WHEN f.status = 'RUNNING' AND f.lease_owner IS NULL AND f.run #>> '{attempts,-1,end}' = 'connection_lost' THEN jsonb_build_object(
      'code', 'CONNECTION_LOST', 'errorCode', f.run #>> '{attempts,-1,errorCode}', 'error', f.run #>> '{attempts,-1,error}',
      'hint', f.run #>> '{attempts,-1,errorHint}')
    WHEN f.status = 'RUNNING' AND (f.lease_until < clock_timestamp() OR NOT EXISTS (
           SELECT FROM etl.etl_runners x WHERE x.id = f.lease_owner AND x.heartbeat_at > clock_timestamp() - interval '15 seconds'))
      THEN jsonb_build_object('code', 'RUNNER_SILENT', 'runner', f.run ->> 'runner_id', 'since', etl.rfc3339(f.lease_until))
    WHEN f.status = 'RUNNING' AND f.run ->> 'error_code' IS NOT NULL THEN jsonb_build_object(
      'code', 'RETRYING', 'attempt', f.run -> 'attempt', 'errorCode', f.run ->> 'error_code', 'error', f.run ->> 'error', 'hint', f.run ->> 'error_hint')
    WHEN h.error IS NOT NULL THEN jsonb_build_object('code', 'CAPTURE_FAILING', 'errorCode', h.error_code, 'error', h.error)
    WHEN h.has_slot AND (h.leased_until < clock_timestamp() OR h.leased_until IS NULL) THEN jsonb_build_object('code', 'CAPTURE_STOPPED')
    WHEN f.status = 'IDLE' AND f.last IS NULL THEN jsonb_build_object('code', 'NEVER_RUN')
    WHEN f.status = 'IDLE' AND f.last ->> 'status' = 'CANCELLED' THEN jsonb_build_object('code', 'CANCELLED', 'since', f.last ->> 'finished_at')
    WHEN jsonb_typeof(f.shown -> 'held_back') = 'object' OR (f.run IS NOT NULL AND jsonb_typeof(f.last -> 'held_back') = 'object')
      THEN coalesce(nullif(f.shown -> 'held_back', 'null'), f.last -> 'held_back') || jsonb_build_object('code', 'HELD_BACK')
    WHEN f.status = 'RUNNING' AND f.as_of IS NULL THEN jsonb_build_object('code', 'FIRST_LOAD', 'since', f.run ->> 'started_at',
      'seconds', f.shown -> 'seconds', 'phase', lower(s.name))
    WHEN s.name IS NOT NULL THEN jsonb_build_object('code', 'SLOW_' || s.name, 'run', f.shown ->> 'id', 'seconds', f.shown -> 'seconds', 'share', s.share,
      'finished', f.run IS NULL)
    WHEN f.status = 'RUNNING' THEN jsonb_build_object('code', 'SLOW_FIRST_BATCH', 'run', f.run ->> 'id', 'seconds', f.shown -> 'seconds')
    ELSE jsonb_build_object('code', 'SLOW_RUN', 'run', f.shown ->> 'id', 'seconds', f.shown -> 'seconds') END
    FROM facts f LEFT JOIN phases s ON true LEFT JOIN head h ON true
$$;
COMMENT ON FUNCTION etl.staleness(uuid) IS 'Why the data of a pipeline is not newer, as far as the meta store knows: a code and its facts.';

-- Of the API: several may notice the same, and one of them reports it.
CREATE FUNCTION etl.notify_of_breach() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  IF NEW.breached_at IS NOT NULL THEN
    PERFORM etl.notify(ARRAY['stale'], NEW.pipeline_id, (SELECT current_run_id FROM etl.etl_pipelines WHERE id = NEW.pipeline_id),
      coalesce(NEW.cause ->> 'code', ''), NEW.cause || jsonb_build_object(
        'budget_seconds', NEW.budget_seconds, 'data_as_of', etl.rfc3339(NEW.data_as_of)));
  ELSE
    INSERT INTO etl.etl_outbox (rule_id, event, pipeline_id, pipeline_name, run_id, data)
    SELECT w.rule_id, w.event, NEW.pipeline_id, w.pipeline_name, NULL, jsonb_build_object('data_as_of', etl.rfc3339(NEW.data_as_of))
      FROM etl.rules_for(ARRAY['recovered'], NEW.pipeline_id) w
     WHERE (SELECT o.event FROM etl.etl_outbox o
             WHERE o.rule_id = w.rule_id AND o.pipeline_id = NEW.pipeline_id AND o.event IN ('stale', 'recovered')
             ORDER BY o.id DESC LIMIT 1) = 'stale';
  END IF;
  PERFORM etl.emit('pipeline.freshness', NEW.pipeline_id, NULL, jsonb_build_object('breached', NEW.breached_at IS NOT NULL, 'cause', NEW.cause ->> 'code'));
  RETURN NULL;
END $$;
CREATE TRIGGER notify_of_breach AFTER UPDATE OF breached_at ON etl.etl_freshness
  FOR EACH ROW WHEN ((OLD.breached_at IS NULL) <> (NEW.breached_at IS NULL)) EXECUTE FUNCTION etl.notify_of_breach();
