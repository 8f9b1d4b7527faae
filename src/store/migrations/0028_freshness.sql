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
  read_at        timestamptz,
  usual_seconds  double precision,
  budget_seconds bigint,
  needed_seconds bigint,
  needed_by      uuid,
  not_before     timestamptz,
  due_at         timestamptz,
  breached_at    timestamptz,
  cause          jsonb
);
COMMENT ON TABLE etl.etl_freshness IS 'How old the data of each mart is, and how old it may become.';
COMMENT ON COLUMN etl.etl_freshness.data_as_of IS
  'The mart contains everything that was committed in the source before this time, through the marts that it reads as well. NULL: no run has succeeded.';
COMMENT ON COLUMN etl.etl_freshness.read_at IS 'When its last successful run began.';
COMMENT ON COLUMN etl.etl_freshness.usual_seconds IS 'What a run usually takes, with its time in the queue.';
COMMENT ON COLUMN etl.etl_freshness.budget_seconds IS 'How old the data may become. NULL: no limit.';
COMMENT ON COLUMN etl.etl_freshness.needed_seconds IS
  'The same, or less if a pipeline that follows it needs newer data. NULL: neither it nor a follower has a limit.';
COMMENT ON COLUMN etl.etl_freshness.needed_by IS 'The follower that needs it. NULL: its own limit is the tightest.';
COMMENT ON COLUMN etl.etl_freshness.not_before IS 'A run was cancelled: no other one is requested before this time.';
COMMENT ON COLUMN etl.etl_freshness.due_at IS 'When a run has to be requested so that it ends in time.';
COMMENT ON COLUMN etl.etl_freshness.breached_at IS 'When an API noticed that the data is too old. NULL: it is not.';
COMMENT ON COLUMN etl.etl_freshness.cause IS 'Why it is too old, as noticed last.';
CREATE INDEX etl_freshness_due ON etl.etl_freshness (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX etl_freshness_needed ON etl.etl_freshness (pipeline_id) WHERE needed_seconds IS NOT NULL;

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
      ON etl.is_live(p.freshness, p.mode, p.capture)
   WHERE p.id = pipeline
$$;
COMMENT ON FUNCTION etl.data_as_of(uuid) IS
  'The mart of the pipeline contains everything that was committed in its source before this time. NULL: nothing is known.';

CREATE FUNCTION etl.reads_only_marts(pipeline uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  SELECT EXISTS (SELECT FROM etl.pipeline_edges e WHERE e.downstream_id = pipeline AND e.kind = 'lineage')
     AND NOT EXISTS (
       SELECT split_part(r.identity, '|', 2) FROM etl.etl_pipeline_reads r
         LEFT JOIN etl.etl_pipeline_targets t ON t.identity = r.identity AND t.pipeline_id <> r.pipeline_id
        WHERE r.pipeline_id = pipeline GROUP BY 1 HAVING count(t.pipeline_id) = 0)
$$;
COMMENT ON FUNCTION etl.reads_only_marts(uuid) IS 'Whether other pipelines fill every table that a pipeline reads.';

CREATE FUNCTION etl.lead_seconds(usual_seconds double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 1 + 1.25 * coalesce(usual_seconds, 0) $$;
COMMENT ON FUNCTION etl.lead_seconds(double precision) IS
  'How long before its data is needed a run is requested: for one that takes a quarter longer than usual, and for a tick of the runners.';

CREATE FUNCTION etl.due_at(f etl.etl_freshness) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  SELECT CASE WHEN f.needed_seconds IS NULL THEN NULL
              -- The marts that it reads come first.
              WHEN f.read_at IS NULL AND EXISTS (SELECT FROM etl.pipeline_edges e WHERE e.downstream_id = f.pipeline_id
                                                   AND etl.data_as_of(e.upstream_id) IS NULL) THEN NULL
              WHEN f.read_at IS NULL THEN greatest(coalesce(f.due_at, clock_timestamp()), f.not_before)
              -- It runs when they have changed.
              WHEN etl.reads_only_marts(f.pipeline_id) THEN NULL
              ELSE greatest(f.read_at + make_interval(secs => greatest(f.needed_seconds - etl.lead_seconds(f.usual_seconds), 0)), f.not_before) END
$$;

CREATE FUNCTION etl.plan_freshness(pipeline uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  UPDATE etl.etl_freshness f SET due_at = etl.due_at(f)
   WHERE f.pipeline_id = pipeline AND (f.needed_seconds IS NOT NULL OR f.due_at IS NOT NULL)
$$;

CREATE FUNCTION etl.limit_freshness() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  -- What a follower needs is found out again by etl.inherit_freshness.
  INSERT INTO etl.etl_freshness (pipeline_id, budget_seconds, needed_seconds)
  VALUES (NEW.id, etl.duration_seconds(NEW.freshness), etl.duration_seconds(NEW.freshness))
  ON CONFLICT (pipeline_id) DO UPDATE
     SET budget_seconds = excluded.budget_seconds, needed_seconds = excluded.needed_seconds, needed_by = NULL;
  PERFORM etl.plan_freshness(NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER limit_freshness AFTER INSERT ON etl.etl_pipelines
  FOR EACH ROW WHEN (NEW.freshness IS NOT NULL) EXECUTE FUNCTION etl.limit_freshness();
CREATE TRIGGER limit_freshness_again AFTER UPDATE OF freshness ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.freshness IS DISTINCT FROM NEW.freshness) EXECUTE FUNCTION etl.limit_freshness();

CREATE FUNCTION etl.date_run() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  -- A full pass that continues another one has not read its first rows again: its data is as old as they are.
  NEW.data_as_of := (
    SELECT r.data_as_of FROM etl.etl_pipelines p
      JOIN LATERAL (SELECT * FROM etl.etl_runs e WHERE e.pipeline_id = p.id AND e.id <> NEW.id
                     ORDER BY e.requested_at DESC, e.id DESC LIMIT 1) r ON true
     WHERE p.id = NEW.pipeline_id AND p.mode = 'full' AND r.status IN ('PAUSED', 'FAILED', 'CANCELLED')
       AND (r.batches > 0 OR r.parts_done > 0));
  -- Marts that it reads are as old as they are.
  NEW.data_as_of := least(NEW.data_as_of, clock_timestamp(), (
    SELECT min(etl.data_as_of(e.upstream_id)) FROM etl.pipeline_edges e WHERE e.downstream_id = NEW.pipeline_id));
  RETURN NEW;
END $$;
CREATE TRIGGER date_run BEFORE INSERT OR UPDATE OF status ON etl.etl_runs
  FOR EACH ROW WHEN (NEW.status = 'RUNNING' AND NEW.data_as_of IS NULL) EXECUTE FUNCTION etl.date_run();

CREATE FUNCTION etl.date_mart() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  IF NEW.status = 'SUCCESS' THEN
    INSERT INTO etl.etl_freshness AS f (pipeline_id, data_as_of, read_at, usual_seconds)
    -- The lower median: one long first load does not make every run look long.
    SELECT NEW.pipeline_id, NEW.data_as_of, NEW.started_at,
           percentile_disc(0.5) WITHIN GROUP (ORDER BY date_part('epoch', r.finished_at - r.requested_at))
      FROM (SELECT finished_at, requested_at FROM etl.etl_runs WHERE pipeline_id = NEW.pipeline_id AND status = 'SUCCESS'
             ORDER BY requested_at DESC, id DESC LIMIT 5) r
    ON CONFLICT (pipeline_id) DO UPDATE
       SET data_as_of = greatest(f.data_as_of, excluded.data_as_of), read_at = greatest(f.read_at, excluded.read_at),
           usual_seconds = excluded.usual_seconds, not_before = NULL;
  ELSE
    -- A run that was cancelled is not requested again at once.
    UPDATE etl.etl_freshness SET not_before = clock_timestamp() + make_interval(secs => needed_seconds)
     WHERE pipeline_id = NEW.pipeline_id AND needed_seconds IS NOT NULL;
  END IF;
  PERFORM etl.plan_freshness(NEW.pipeline_id);
  RETURN NULL;
END $$;
CREATE TRIGGER date_mart AFTER UPDATE OF status ON etl.etl_runs
  FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status AND NEW.status IN ('SUCCESS', 'CANCELLED'))
  EXECUTE FUNCTION etl.date_mart();

CREATE FUNCTION etl.inherit_freshness() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM etl.etl_freshness WHERE needed_seconds IS NOT NULL) OR NOT pg_try_advisory_xact_lock(1986622066, 4) THEN
    RETURN;
  END IF;
  -- An upstream has to be as new as its follower when the follower starts.
  WITH RECURSIVE edge AS MATERIALIZED (
    SELECT DISTINCT e.upstream_id AS u, e.downstream_id AS d FROM etl.pipeline_edges e
      JOIN etl.etl_pipelines p ON p.id = e.upstream_id AND NOT etl.is_live(p.freshness, p.mode, p.capture)
  ), need (id, seconds) AS (
    SELECT f.pipeline_id, f.budget_seconds FROM etl.etl_freshness f JOIN etl.etl_pipelines p ON p.id = f.pipeline_id
     WHERE f.budget_seconds IS NOT NULL AND p.enabled
    UNION
    SELECT e.u, greatest(1, floor(n.seconds - etl.lead_seconds(f.usual_seconds)))::bigint
      FROM need n JOIN edge e ON e.d = n.id LEFT JOIN etl.etl_freshness f ON f.pipeline_id = n.id
  ), tightest AS MATERIALIZED (
    SELECT n.id, min(n.seconds) AS seconds FROM need n GROUP BY 1
  ), wanted AS (
    SELECT p.id, t.seconds, CASE WHEN t.seconds IS DISTINCT FROM f.budget_seconds THEN (
             SELECT e.d FROM edge e JOIN tightest b ON b.id = e.d LEFT JOIN etl.etl_freshness g ON g.pipeline_id = e.d
              WHERE e.u = p.id ORDER BY b.seconds - etl.lead_seconds(g.usual_seconds), e.d LIMIT 1) END AS needed_by
      FROM (SELECT t.id FROM tightest t UNION SELECT f.pipeline_id FROM etl.etl_freshness f WHERE f.needed_seconds IS NOT NULL) p
      LEFT JOIN tightest t USING (id) LEFT JOIN etl.etl_freshness f ON f.pipeline_id = p.id
  )
  -- The usual time of a run varies a little from run to run.
  INSERT INTO etl.etl_freshness AS f (pipeline_id, needed_seconds, needed_by)
  SELECT w.id, coalesce(w.seconds, g.budget_seconds), w.needed_by FROM wanted w LEFT JOIN etl.etl_freshness g ON g.pipeline_id = w.id
   WHERE w.needed_by IS DISTINCT FROM g.needed_by OR (coalesce(w.seconds, g.budget_seconds) IS NULL) <> (g.needed_seconds IS NULL)
      OR abs(coalesce(w.seconds, g.budget_seconds) - g.needed_seconds) > 0.05 * g.needed_seconds
   ORDER BY w.id
  ON CONFLICT (pipeline_id) DO UPDATE SET needed_seconds = excluded.needed_seconds, needed_by = excluded.needed_by;

  UPDATE etl.etl_freshness f SET due_at = planned.due_at
    FROM (SELECT x.pipeline_id, etl.due_at(x) AS due_at FROM etl.etl_freshness x
           WHERE x.needed_seconds IS NOT NULL OR x.due_at IS NOT NULL OFFSET 0) planned
   WHERE planned.pipeline_id = f.pipeline_id AND planned.due_at IS DISTINCT FROM f.due_at;

  -- A mart that reads only marts is as new as they are if it has read their last changes. From the top down.
  FOR level IN 1..50 LOOP
    WITH upstream AS MATERIALIZED (
      SELECT p.id, CASE WHEN etl.is_live(p.freshness, p.mode, p.capture) THEN etl.data_as_of(p.id) ELSE u.data_as_of END AS as_of
        FROM (SELECT DISTINCT e.upstream_id AS id FROM etl.pipeline_edges e) each JOIN etl.etl_pipelines p USING (id)
        LEFT JOIN etl.etl_freshness u ON u.pipeline_id = p.id
    ), seen AS MATERIALIZED (
      SELECT e.downstream_id AS id, min(u.as_of) AS as_of FROM etl.pipeline_edges e JOIN upstream u ON u.id = e.upstream_id
       GROUP BY 1 HAVING bool_and(u.as_of IS NOT NULL)
    )
    UPDATE etl.etl_freshness f SET data_as_of = seen.as_of FROM seen
     WHERE f.pipeline_id = seen.id AND f.needed_seconds IS NOT NULL AND f.data_as_of < seen.as_of
       AND NOT EXISTS (SELECT FROM etl.etl_due m WHERE m.pipeline_id = f.pipeline_id) AND etl.reads_only_marts(f.pipeline_id);
    EXIT WHEN NOT FOUND;
  END LOOP;
END $$;
COMMENT ON FUNCTION etl.inherit_freshness() IS
  'Passes limits from followers to the pipelines that they follow, and the age of data from these to followers that have read their last changes.';
REVOKE EXECUTE ON FUNCTION etl.plan_freshness(uuid), etl.inherit_freshness() FROM PUBLIC;
-- What is known from the history.
UPDATE etl.etl_runs SET data_as_of = started_at WHERE started_at IS NOT NULL AND status IN ('RUNNING', 'SUCCESS');
INSERT INTO etl.etl_freshness (pipeline_id, data_as_of, read_at)
SELECT pipeline_id, max(started_at), max(started_at) FROM etl.etl_runs WHERE status = 'SUCCESS' GROUP BY 1;

CREATE FUNCTION etl.staleness(pipeline uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  RETURN (
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
  ), oldest AS (
    -- The upstream with the oldest data, if that is too old for this pipeline.
    SELECT u.id, u.name FROM etl.etl_freshness f JOIN etl.pipeline_edges e ON e.downstream_id = f.pipeline_id
      JOIN etl.etl_pipelines u ON u.id = e.upstream_id CROSS JOIN LATERAL (SELECT etl.data_as_of(u.id) AS as_of) d
     WHERE f.pipeline_id = pipeline AND coalesce(d.as_of + make_interval(secs => f.needed_seconds) < clock_timestamp(), true)
     ORDER BY d.as_of NULLS FIRST, u.name LIMIT 1
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
    WHEN f.status = 'IDLE' AND o.name IS NOT NULL THEN jsonb_build_object('code', 'UPSTREAM', 'upstream', o.name, 'cause', etl.staleness(o.id))
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
    FROM facts f LEFT JOIN phases s ON true LEFT JOIN head h ON true LEFT JOIN oldest o ON true);
END $$;
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
