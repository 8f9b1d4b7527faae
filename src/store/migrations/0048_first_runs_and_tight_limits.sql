-- What a pipeline reads was known only after the API had saved it, or had been started since, or after its first run. A
-- mart of marts that was inserted with SQL was due at once, before the marts that it reads: its first run failed for want
-- of a table, and for good. What is known is recorded: the API looks for the rest every two seconds, and before the first
-- run for its freshness a runner reads the names of the tables from the text of the query.
-- A run whose runner is gone was reported as RUNNER_SILENT, also if no other runner takes its tags and it would never go on.
-- A limit of one second was a run without a pause, up to twenty a second: a quarter of the limit is between two starts.
-- Compatible: an older runner requests these runs without looking; an older API looks only when it starts.

CREATE TABLE etl.etl_known_reads (
  pipeline_id uuid PRIMARY KEY REFERENCES etl.etl_pipelines ON DELETE CASCADE,
  in_full     boolean NOT NULL
);
COMMENT ON TABLE etl.etl_known_reads IS
  'Whether the tables of a pipeline in etl_pipeline_reads are those of its query. Without a row: if there are any.';
COMMENT ON COLUMN etl.etl_known_reads.in_full IS
  'False: the query was changed with SQL, or a runner has read only its text. An API finds the tables.';

CREATE FUNCTION etl.knows_reads(pipeline uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  SELECT coalesce((SELECT k.in_full FROM etl.etl_known_reads k WHERE k.pipeline_id = pipeline),
                  EXISTS (SELECT FROM etl.etl_pipeline_reads r WHERE r.pipeline_id = pipeline))
$$;
COMMENT ON FUNCTION etl.knows_reads(uuid) IS 'Whether it is known which tables a pipeline reads.';

CREATE FUNCTION etl.forget_reads() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  pipeline uuid;
BEGIN
  IF TG_TABLE_NAME = 'etl_pipelines' THEN
    pipeline := NEW.id;
  ELSIF TG_OP = 'DELETE' THEN
    pipeline := OLD.pipeline_id;
  ELSE
    pipeline := NEW.pipeline_id;
  END IF;
  -- The tasks of a pipeline that is deleted are deleted after it.
  INSERT INTO etl.etl_known_reads (pipeline_id, in_full)
  SELECT p.id, false FROM etl.etl_pipelines p WHERE p.id = pipeline AND etl.knows_reads(p.id)
  ON CONFLICT (pipeline_id) DO UPDATE SET in_full = false;
  RETURN NULL;
END $$;
CREATE TRIGGER forget_reads AFTER UPDATE OF source_query, source_table, source_connection ON etl.etl_pipelines
  FOR EACH ROW WHEN (ROW(OLD.source_query, OLD.source_table, OLD.source_connection)
                     IS DISTINCT FROM ROW(NEW.source_query, NEW.source_table, NEW.source_connection))
  EXECUTE FUNCTION etl.forget_reads();
CREATE TRIGGER forget_reads AFTER INSERT OR UPDATE OR DELETE ON etl.etl_pipeline_tasks
  FOR EACH ROW EXECUTE FUNCTION etl.forget_reads();

CREATE FUNCTION etl.know_reads(pipeline uuid, version bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  -- FOR SHARE: a change of the query either precedes this, or waits and then forgets it.
  INSERT INTO etl.etl_known_reads (pipeline_id, in_full)
  SELECT p.id, true FROM etl.etl_pipelines p WHERE p.id = pipeline AND p.config_version = version FOR SHARE
  ON CONFLICT (pipeline_id) DO UPDATE SET in_full = true
$$;
COMMENT ON FUNCTION etl.know_reads(uuid, bigint) IS
  'Records that the tables of a pipeline are known, unless its configuration has another version by now.';
REVOKE EXECUTE ON FUNCTION etl.know_reads(uuid, bigint) FROM PUBLIC;

-- As before, and what the API saves is known.
CREATE OR REPLACE FUNCTION etl.note_reads(pipeline uuid, connections text[], schemas text[], tables text[], strict boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  found_now text[] := ARRAY(SELECT DISTINCT coalesce(lower(connection), '') || '|' || quote_ident(relation.schema) || '.' || quote_ident(relation.name)
                              FROM unnest(connections) AS connection, unnest(schemas, tables) AS relation (schema, name) ORDER BY 1);
  one text;
BEGIN
  IF strict THEN
    INSERT INTO etl.etl_known_reads AS k (pipeline_id, in_full) SELECT p.id, true FROM etl.etl_pipelines p WHERE p.id = pipeline
    ON CONFLICT (pipeline_id) DO UPDATE SET in_full = true WHERE NOT k.in_full;
  END IF;
  IF found_now = ARRAY(SELECT r.identity FROM etl.etl_pipeline_reads r WHERE r.pipeline_id = pipeline ORDER BY 1)
     OR NOT EXISTS (SELECT FROM etl.etl_pipelines p WHERE p.id = pipeline) THEN
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock(1986622066, 3);
  DELETE FROM etl.etl_pipeline_reads r WHERE r.pipeline_id = pipeline AND r.identity <> ALL (found_now);
  IF strict THEN
    INSERT INTO etl.etl_pipeline_reads (pipeline_id, identity) SELECT pipeline, unnest(found_now) ON CONFLICT DO NOTHING;
    PERFORM etl.refresh_edges(pipeline);
    PERFORM etl.require_no_cycle(pipeline);
  ELSE
    -- A run must not fail because a view has changed: what would close a cycle is not followed.
    PERFORM etl.refresh_edges(pipeline);
    FOREACH one IN ARRAY found_now LOOP
      INSERT INTO etl.etl_pipeline_reads (pipeline_id, identity) VALUES (pipeline, one) ON CONFLICT DO NOTHING;
      CONTINUE WHEN NOT FOUND;
      PERFORM etl.refresh_edges(pipeline);
      IF etl.cycle_of(pipeline) IS NOT NULL THEN
        UPDATE etl.etl_pipeline_reads r SET closes_cycle = true WHERE r.pipeline_id = pipeline AND r.identity = one;
        PERFORM etl.refresh_edges(pipeline);
      END IF;
    END LOOP;
  END IF;
END $$;

-- As before, and followers are planned.
CREATE OR REPLACE FUNCTION etl.date_mart()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
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
  -- A run that changed no rows makes no follower due, and the first run of a follower may have waited for it.
  UPDATE etl.etl_freshness f SET due_at = etl.due_at(f)
   WHERE f.pipeline_id IN (
     SELECT x.pipeline_id FROM etl.etl_pipeline_edges e JOIN etl.etl_freshness x ON x.pipeline_id = e.downstream_id
      WHERE e.upstream_id = NEW.pipeline_id AND x.read_at IS NULL AND x.due_at IS NULL AND x.needed_seconds IS NOT NULL
        FOR UPDATE OF x SKIP LOCKED);
  RETURN NULL;
END $$;

-- As before, and NO_RUNNER_FOR_TAGS for a run that no runner takes over.
CREATE OR REPLACE FUNCTION etl.staleness(pipeline uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
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
  ), timed AS (
    -- This run, or the last one: also while this one has no batch yet and takes no longer than twice as long.
    SELECT CASE WHEN f.last ->> 'status' = 'SUCCESS' AND (f.run ->> 'seconds')::float8 <= 2 * (f.last ->> 'seconds')::float8
                 AND NOT EXISTS (SELECT FROM etl.etl_run_batches x WHERE x.run_id = (f.run ->> 'id')::uuid)
                THEN f.last ELSE f.shown END AS run
      FROM facts f
  ), phases AS (
    -- The phase that took most of its time.
    SELECT phase.name, phase.ms / nullif(b.whole, 0) AS share, b.is_estimated
      FROM (SELECT sum(coalesce(x.read_ms, greatest(x.write_ms - n.changed, 0))) AS read, sum(x.transform_ms) AS transform,
                   sum(CASE WHEN x.read_ms IS NULL THEN least(x.write_ms, n.changed) ELSE x.write_ms END) AS write,
                   sum(x.checkpoint_ms) AS checkpoint, sum(x.duration_ms) AS whole, bool_or(x.read_ms IS NULL) AS is_estimated
              FROM timed t JOIN etl.etl_run_batches x ON x.run_id = (t.run ->> 'id')::uuid
             CROSS JOIN LATERAL (SELECT x.rows_inserted + x.rows_updated + x.rows_deleted AS changed) n) b
     CROSS JOIN LATERAL (VALUES ('READ', b.read), ('TRANSFORM', b.transform), ('WRITE', b.write), ('CHECKPOINT', b.checkpoint)) AS phase(name, ms)
     WHERE phase.ms IS NOT NULL ORDER BY phase.ms DESC LIMIT 1
  ), oldest AS (
    -- The upstream with the oldest data, if that is too old for this pipeline.
    SELECT u.id, u.name FROM etl.etl_freshness f JOIN etl.pipeline_edges e ON e.downstream_id = f.pipeline_id
      JOIN etl.etl_pipelines u ON u.id = e.upstream_id CROSS JOIN LATERAL (SELECT etl.data_as_of(u.id) AS as_of) d
     WHERE f.pipeline_id = pipeline AND coalesce(d.as_of + make_interval(secs => f.needed_seconds) < clock_timestamp(), true)
     ORDER BY d.as_of NULLS FIRST, u.name LIMIT 1
  ), head AS (
    -- A frozen runner keeps its lease for a while.
    SELECT h.error, h.error_code, h.has_slot,
           h.leased_until IS NOT NULL AND h.leased_until > clock_timestamp() AND EXISTS (
             SELECT FROM etl.etl_runners x WHERE x.id = h.owner AND x.heartbeat_at > clock_timestamp() - interval '15 seconds') AS is_captured
      FROM facts f
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
    -- A runner that holds no lease any more, and none that could take the run over.
    WHEN f.status = 'RUNNING' AND (f.lease_owner IS NULL OR f.lease_until < clock_timestamp()) AND NOT EXISTS (
           SELECT FROM etl.etl_runners x WHERE x.stopped_at IS NULL AND x.heartbeat_at > clock_timestamp() - interval '15 seconds'
              AND etl.runner_takes(x.tags, f.tags))
      THEN jsonb_build_object('code', 'NO_RUNNER_FOR_TAGS', 'tags', f.tags, 'since', etl.rfc3339(f.lease_until))
    -- Runners try again each second: most of the time one of them holds the run, until its first batch since then.
    WHEN f.status = 'RUNNING' AND f.run #>> '{attempts,-1,end}' = 'connection_lost'
         AND (f.lease_owner IS NULL OR f.run #>> '{attempts,-1,endedAt}' > etl.rfc3339(clock_timestamp() - interval '15 seconds')
              AND NOT EXISTS (SELECT FROM etl.etl_run_batches b WHERE b.run_id = f.current_run_id
                                 AND etl.rfc3339(b.finished_at) > f.run #>> '{attempts,-1,endedAt}'))
      THEN jsonb_build_object(
      'code', 'CONNECTION_LOST', 'errorCode', f.run #>> '{attempts,-1,errorCode}', 'error', f.run #>> '{attempts,-1,error}',
      'hint', f.run #>> '{attempts,-1,errorHint}')
    WHEN f.status = 'RUNNING' AND (f.lease_until < clock_timestamp() OR NOT EXISTS (
           SELECT FROM etl.etl_runners x WHERE x.id = f.lease_owner AND x.heartbeat_at > clock_timestamp() - interval '15 seconds'))
      THEN jsonb_build_object('code', 'RUNNER_SILENT', 'runner', f.run ->> 'runner_id', 'since', etl.rfc3339(f.lease_until))
    -- A run that waited in vain for the change log (CAPTURE_BEHIND, CAPTURE_WAITING) is repeated; the cause is what captures.
    WHEN f.status = 'RUNNING' AND f.run ->> 'error_code' IS NOT NULL
         AND (NOT f.run ->> 'error_code' = ANY ('{VTR-2107,VTR-2108}') OR h.error IS NULL AND h.is_captured IS NOT FALSE)
      THEN jsonb_build_object(
      'code', 'RETRYING', 'attempt', f.run -> 'attempt', 'errorCode', f.run ->> 'error_code', 'error', f.run ->> 'error', 'hint', f.run ->> 'error_hint')
    WHEN h.error IS NOT NULL THEN jsonb_build_object('code', 'CAPTURE_FAILING', 'errorCode', h.error_code, 'error', h.error)
    WHEN h.has_slot AND NOT h.is_captured THEN jsonb_build_object('code', 'CAPTURE_STOPPED')
    WHEN f.status = 'IDLE' AND o.name IS NOT NULL THEN jsonb_build_object('code', 'UPSTREAM', 'upstream', o.name, 'upstreamId', o.id, 'cause', etl.staleness(o.id))
    WHEN f.status = 'IDLE' AND f.last IS NULL THEN jsonb_build_object('code', 'NEVER_RUN')
    WHEN f.status = 'IDLE' AND f.last ->> 'status' = 'CANCELLED' THEN jsonb_build_object('code', 'CANCELLED', 'since', f.last ->> 'finished_at')
    WHEN jsonb_typeof(f.shown -> 'held_back') = 'object' OR (f.run IS NOT NULL AND jsonb_typeof(f.last -> 'held_back') = 'object')
      THEN coalesce(nullif(f.shown -> 'held_back', 'null'), f.last -> 'held_back') || jsonb_build_object('code', 'HELD_BACK')
    WHEN f.status = 'RUNNING' AND f.as_of IS NULL THEN jsonb_build_object('code', 'FIRST_LOAD', 'since', f.run ->> 'started_at',
      'seconds', f.shown -> 'seconds', 'phase', lower(s.name))
    WHEN s.name IS NOT NULL THEN jsonb_build_object('code', 'SLOW_' || s.name, 'run', t.run ->> 'id', 'seconds', t.run -> 'seconds', 'share', s.share,
      'finished', t.run ->> 'status' <> 'RUNNING', 'estimated', s.name = 'READ' AND s.is_estimated)
    WHEN f.status = 'RUNNING' THEN jsonb_build_object('code', 'SLOW_FIRST_BATCH', 'run', f.run ->> 'id', 'seconds', f.shown -> 'seconds')
    ELSE jsonb_build_object('code', 'SLOW_RUN', 'run', f.shown ->> 'id', 'seconds', f.shown -> 'seconds') END
    FROM facts f CROSS JOIN timed t LEFT JOIN phases s ON true LEFT JOIN head h ON true LEFT JOIN oldest o ON true);
END $$;

-- As before, and a quarter of the limit is between two starts.
CREATE OR REPLACE FUNCTION etl.due_at(f etl.etl_freshness)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  SELECT CASE WHEN f.needed_seconds IS NULL THEN NULL
              -- The marts that it reads come first.
              WHEN f.read_at IS NULL AND EXISTS (SELECT FROM etl.pipeline_edges e WHERE e.downstream_id = f.pipeline_id
                                                   AND etl.data_as_of(e.upstream_id) IS NULL) THEN NULL
              WHEN f.read_at IS NULL THEN greatest(coalesce(f.due_at, clock_timestamp()), f.not_before)
              -- It runs when they have changed.
              WHEN etl.reads_only_marts(f.pipeline_id) THEN NULL
              -- A limit of one second would be a run without a pause.
              ELSE greatest(f.read_at + make_interval(secs => greatest(f.needed_seconds - etl.lead_seconds(f.usual_seconds), f.needed_seconds / 4.0)), f.not_before) END
$$;
