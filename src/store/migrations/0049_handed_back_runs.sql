-- A run that a stopping runner had handed back was reported as RUNNER_SILENT while the other runners were busy, although no
-- runner holds it. It waits for a free slot: QUEUE.
-- Compatible: no runner reads this function.

-- As before, with the cause of a run that no runner holds.
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
    -- Handed back in good order: it is taken over before requested runs, as soon as a runner has a free slot.
    WHEN f.status = 'RUNNING' AND f.lease_owner IS NULL THEN jsonb_build_object('code', 'QUEUE',
      'since', coalesce(f.run #>> '{attempts,-1,endedAt}', f.run ->> 'started_at'), 'ahead', 0,
      'running', (SELECT count(*) FROM etl.etl_pipelines q WHERE q.id <> f.id AND q.status IN ('RUNNING', 'PAUSE_REQUESTED')))
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
