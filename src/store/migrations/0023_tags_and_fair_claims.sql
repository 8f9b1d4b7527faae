-- Tags decide which runners take a pipeline. Claims are fair between tags and respect limits per connection.
-- Compatible: an older runner ignores tags and limits and claims whatever is queued. Upgrade every runner before you
-- rely on them.

CREATE FUNCTION etl.are_tags(tags text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  SELECT cardinality(tags) <= 20 AND count(*) = count(DISTINCT tag) AND coalesce(bool_and(tag ~ '^[a-z0-9][a-z0-9_-]{0,39}$'), true)
    FROM unnest(tags) AS tag
$$;
COMMENT ON FUNCTION etl.are_tags(text[]) IS
  'Whether these are tags of a pipeline: at most 20 different words of lower-case letters, digits, - and _, up to 40 characters each.';

ALTER TABLE etl.etl_pipelines
  ADD COLUMN tags text[] NOT NULL DEFAULT '{}' CONSTRAINT etl_pipelines_tags_check CHECK (etl.are_tags(tags));
COMMENT ON COLUMN etl.etl_pipelines.tags IS
  'Words to find pipelines by, and to decide which runners take them (RUNNER_TAGS). The first tag is the queue of the pipeline: queues take turns.';
CREATE TRIGGER version_tags BEFORE UPDATE OF tags ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.tags IS DISTINCT FROM NEW.tags) EXECUTE FUNCTION etl.version_pipeline();

ALTER TABLE etl.etl_runners
  ADD COLUMN tags jsonb,
  ADD COLUMN connection_limits jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN etl.etl_runners.tags IS 'Slots by tag, as in RUNNER_TAGS. NULL: the runner takes every pipeline.';
COMMENT ON COLUMN etl.etl_runners.connection_limits IS 'Runs at once by connection over all runners, as in CONNECTION_LIMITS.';

ALTER TABLE etl.etl_runs ADD COLUMN stalled_since timestamptz;
COMMENT ON COLUMN etl.etl_runs.stalled_since IS
  'When a runner found that no live runner takes the tags of the pipeline. Cleared when the run is claimed.';

CREATE FUNCTION etl.tell_of_stalled_run() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  PERFORM etl.emit('run.stalled', NEW.pipeline_id, NEW.id,
                   jsonb_build_object('tags', (SELECT to_jsonb(tags) FROM etl.etl_pipelines WHERE id = NEW.pipeline_id)));
  RETURN NULL;
END $$;
CREATE TRIGGER tell_of_stalled_run AFTER UPDATE OF stalled_since ON etl.etl_runs
  FOR EACH ROW WHEN (OLD.stalled_since IS NULL AND NEW.stalled_since IS NOT NULL) EXECUTE FUNCTION etl.tell_of_stalled_run();

CREATE FUNCTION etl.runner_takes(slots jsonb, tags text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  SELECT slots IS NULL OR CASE
    WHEN slots ?| tags THEN NOT EXISTS (SELECT FROM unnest(tags) AS tag WHERE (slots ->> tag)::integer <= 0)
    ELSE coalesce((slots ->> '*')::integer, 0) > 0 END
$$;
COMMENT ON FUNCTION etl.runner_takes(jsonb, text[]) IS
  'Whether a runner with these slots takes a pipeline with these tags. A run uses a slot of each tag that the runner names; without such a tag one of "*".';

CREATE FUNCTION etl.source_side(source_connection text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT coalesce(lower(source_connection), 'main') $$;
-- A sink such as es: is not the main database.
CREATE FUNCTION etl.target_side(target_connection text, target text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(lower(target_connection), CASE WHEN target ~ '^[a-z0-9]+:' THEN '' ELSE 'main' END) $$;

-- A lane: queued pipelines with the same tags and connections. A claim decides for each lane, not for each pipeline,
-- whether a runner may take it, so that its cost does not depend on the number of queued runs.
CREATE INDEX etl_pipelines_queue ON etl.etl_pipelines
  (tags, etl.source_side(source_connection), etl.target_side(target_connection, target_table), requested_at)
  WHERE status = 'RUN_REQUESTED' AND enabled;
-- To the planner it looks as good as the queue, because the statistics of a queue are always wrong; measured: claims of
-- 40 ms instead of 2 ms.
DROP INDEX etl.etl_pipelines_active;
-- Neither lease_until nor fence: they change with every batch, and an index would make each of these updates dearer.
CREATE INDEX etl_pipelines_held ON etl.etl_pipelines (requested_at) WHERE status IN ('RUNNING', 'PAUSE_REQUESTED');

CREATE FUNCTION etl.with_attempt(run etl.etl_runs, how text, error text, code text, hint text) RETURNS jsonb
LANGUAGE sql VOLATILE SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  -- A run that is handed back repeatedly must not grow without limit: the first attempts are dropped.
  SELECT CASE WHEN jsonb_array_length(run.attempts) >= 50 THEN run.attempts - 0 ELSE run.attempts END
      || jsonb_build_object('attempt', run.attempt, 'end', how, 'endedAt', etl.rfc3339(clock_timestamp()), 'runnerId', run.runner_id,
                            'error', error, 'errorCode', code, 'errorHint', hint)
$$;
COMMENT ON FUNCTION etl.with_attempt(etl.etl_runs, text, text, text, text) IS
  'The attempts of a run including the one that ends now.';

CREATE FUNCTION etl.claim_run(runner text, lease_seconds double precision, free jsonb, limits jsonb, served jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path TO 'pg_catalog', 'pg_temp'
-- For the same reason: a plan that was made for an empty queue must also be good for a full one.
SET enable_seqscan TO off SET enable_bitmapscan TO off SET enable_sort TO off
AS $$
DECLARE
  -- Lanes that one claim looks at. Measured: 10 µs each.
  most_lanes CONSTANT integer := 32;
  after_tags text[] := coalesce(ARRAY(SELECT jsonb_array_elements_text(served -> 'tags')), '{}');
  after_source text := coalesce(served ->> 'source', '');
  after_target text := coalesce(served ->> 'target', '');
  -- etl.runner_takes as arrays, because a call of it for each lane takes three times as long as finding the lane.
  full_tags text[] := ARRAY(SELECT key FROM jsonb_each_text(free) WHERE key <> '*' AND value::integer <= 0);
  open_tags text[] := ARRAY(SELECT key FROM jsonb_each_text(free) WHERE key <> '*' AND value::integer > 0);
  takes_rest boolean := free IS NULL OR coalesce((free ->> '*')::integer, 0) > 0;
  reached text[] := '{}';
  lane record;
  found_one etl.etl_pipelines;
  held etl.etl_pipelines;
  died integer;
  run etl.etl_runs;
BEGIN
  -- SKIP LOCKED everywhere: concurrent runners claim different pipelines instead of waiting for each other.
  -- A run whose holder is silent comes first. It already counts against the limits of its connections.
  SELECT p.* INTO found_one FROM etl.etl_pipelines p
   WHERE p.status IN ('RUNNING', 'PAUSE_REQUESTED') AND (p.lease_until IS NULL OR p.lease_until < clock_timestamp())
     AND NOT p.tags && full_tags AND (takes_rest OR p.tags && open_tags)
   ORDER BY p.requested_at LIMIT 1 FOR UPDATE SKIP LOCKED;

  IF found_one.id IS NULL THEN
    IF limits <> '{}' THEN
      -- One claim at a time: two that count at the same moment would both take the last place. Each statement of this
      -- function sees what was committed before it began, so that the count below includes the previous claim.
      PERFORM pg_advisory_xact_lock(1986622066, 1);
      reached := ARRAY(
        SELECT l.key FROM jsonb_each_text(limits) l
         WHERE l.value::integer <= (
           SELECT count(*) FROM etl.etl_pipelines p
            WHERE p.status IN ('RUNNING', 'PAUSE_REQUESTED')
              AND lower(l.key) IN (etl.source_side(p.source_connection), etl.target_side(p.target_connection, p.target_table))));
    END IF;

    -- The queue (first tag) with the fewest runs in progress is next; between equal ones they take turns, beginning
    -- after the lane that this runner served last. Within a queue the oldest request is first.
    FOR lane IN
      WITH RECURSIVE later AS (
        (SELECT p.tags, etl.source_side(p.source_connection) AS source, etl.target_side(p.target_connection, p.target_table) AS target,
                p.requested_at, 1 AS place
           FROM etl.etl_pipelines p
          WHERE p.status = 'RUN_REQUESTED' AND p.enabled
            AND (p.tags, etl.source_side(p.source_connection), etl.target_side(p.target_connection, p.target_table))
              > (after_tags, after_source, after_target)
          ORDER BY p.tags, etl.source_side(p.source_connection), etl.target_side(p.target_connection, p.target_table), p.requested_at
          LIMIT 1)
        UNION ALL
        SELECT n.*, l.place + 1 FROM later l, LATERAL (
          SELECT p.tags, etl.source_side(p.source_connection), etl.target_side(p.target_connection, p.target_table), p.requested_at
            FROM etl.etl_pipelines p
           WHERE p.status = 'RUN_REQUESTED' AND p.enabled
             AND (p.tags, etl.source_side(p.source_connection), etl.target_side(p.target_connection, p.target_table))
               > (l.tags, l.source, l.target)
           ORDER BY p.tags, etl.source_side(p.source_connection), etl.target_side(p.target_connection, p.target_table), p.requested_at
           LIMIT 1) n
      ), from_start AS (
        (SELECT p.tags, etl.source_side(p.source_connection) AS source, etl.target_side(p.target_connection, p.target_table) AS target,
                p.requested_at, most_lanes + 1 AS place
           FROM etl.etl_pipelines p
          WHERE p.status = 'RUN_REQUESTED' AND p.enabled
          ORDER BY p.tags, etl.source_side(p.source_connection), etl.target_side(p.target_connection, p.target_table), p.requested_at
          LIMIT 1)
        UNION ALL
        SELECT n.*, l.place + 1 FROM from_start l, LATERAL (
          SELECT p.tags, etl.source_side(p.source_connection), etl.target_side(p.target_connection, p.target_table), p.requested_at
            FROM etl.etl_pipelines p
           WHERE p.status = 'RUN_REQUESTED' AND p.enabled
             AND (p.tags, etl.source_side(p.source_connection), etl.target_side(p.target_connection, p.target_table))
               > (l.tags, l.source, l.target)
             AND (p.tags, etl.source_side(p.source_connection), etl.target_side(p.target_connection, p.target_table))
               <= (after_tags, after_source, after_target)
           ORDER BY p.tags, etl.source_side(p.source_connection), etl.target_side(p.target_connection, p.target_table), p.requested_at
           LIMIT 1) n
      ), seen AS (
        SELECT * FROM (SELECT * FROM later UNION ALL SELECT * FROM from_start) lanes LIMIT most_lanes
      ), running AS (
        SELECT p.tags[1] AS queue, count(*) AS runs FROM etl.etl_pipelines p
         WHERE p.status IN ('RUNNING', 'PAUSE_REQUESTED') GROUP BY 1
      )
      SELECT s.tags, s.source, s.target FROM seen s LEFT JOIN running r ON r.queue IS NOT DISTINCT FROM s.tags[1]
       WHERE NOT s.tags && full_tags AND (takes_rest OR s.tags && open_tags) AND s.source <> ALL (reached) AND s.target <> ALL (reached)
       ORDER BY coalesce(r.runs, 0), served IS NOT NULL AND s.tags[1] IS NOT DISTINCT FROM after_tags[1],
                CASE WHEN served IS NOT NULL THEN min(s.place) OVER (PARTITION BY s.tags[1]) END, s.requested_at
    LOOP
      SELECT p.* INTO found_one FROM etl.etl_pipelines p
       WHERE p.status = 'RUN_REQUESTED' AND p.enabled AND p.tags = lane.tags
         AND etl.source_side(p.source_connection) = lane.source
         AND etl.target_side(p.target_connection, p.target_table) = lane.target
       ORDER BY p.requested_at LIMIT 1 FOR UPDATE SKIP LOCKED;
      EXIT WHEN found_one.id IS NOT NULL;
    END LOOP;
    IF found_one.id IS NULL THEN
      RETURN NULL;
    END IF;
  END IF;

  UPDATE etl.etl_pipelines p
     SET status = CASE p.status WHEN 'RUN_REQUESTED' THEN 'RUNNING' ELSE p.status END, fence = p.fence + 1,
         lease_owner = runner, lease_until = clock_timestamp() + make_interval(secs => lease_seconds)
   WHERE p.id = found_one.id RETURNING p.* INTO held;

  died := (found_one.status <> 'RUN_REQUESTED' AND found_one.lease_owner IS NOT NULL)::integer;
  -- The history may have been cleared meanwhile: without its run, the pipeline would stop the whole queue.
  INSERT INTO etl.etl_runs AS r (id, pipeline_id, status, started_at, runner_id, attempt, deaths, config_version)
  VALUES (held.current_run_id, held.id, 'RUNNING', clock_timestamp(), runner, 1, died, held.config_version)
  ON CONFLICT (id) DO UPDATE
     SET status = 'RUNNING', started_at = coalesce(r.started_at, clock_timestamp()), runner_id = excluded.runner_id,
         attempt = r.attempt + 1, deaths = r.deaths + died, config_version = excluded.config_version, stalled_since = NULL,
         -- A runner that hands a run back records the end of its attempt at once.
         attempts = CASE WHEN r.attempt = 0 OR (r.attempts -> -1 ->> 'attempt')::integer IS NOT DISTINCT FROM r.attempt THEN r.attempts
                         ELSE etl.with_attempt(r, CASE WHEN died > 0 THEN 'runner_died' ELSE 'given_back' END, NULL, NULL, NULL) END
  RETURNING r.* INTO run;

  RETURN jsonb_build_object(
    'pipeline', to_jsonb(held) || jsonb_build_object(
      'created_at', etl.rfc3339(held.created_at), 'updated_at', etl.rfc3339(held.updated_at),
      'tasks', (SELECT coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'orderIndex', t.order_index, 'taskType', t.task_type, 'body', t.body,
                         'sourceTable', t.source_table, 'targetTable', t.target_table) ORDER BY t.order_index), '[]')
                  FROM etl.etl_pipeline_tasks t WHERE t.pipeline_id = held.id)),
    'previousStatus', found_one.status, 'previousOwner', found_one.lease_owner,
    'waitedMs', date_part('epoch', clock_timestamp() - held.requested_at) * 1000,
    'attempt', run.attempt, 'deaths', run.deaths, 'cancelRequested', run.cancel_requested, 'trigger', run.trigger,
    'traceparent', run.traceparent, 'previousEnd', run.attempts -> -1 ->> 'end',
    'lane', jsonb_build_object('tags', held.tags, 'source', etl.source_side(held.source_connection),
                               'target', etl.target_side(held.target_connection, held.target_table)));
END $$;
COMMENT ON FUNCTION etl.claim_run(text, double precision, jsonb, jsonb, jsonb) IS
  'Claims a queued run, or one whose holder is silent, for a runner with these free slots by tag and limits by connection. "served": the lane of its previous claim.';

CREATE FUNCTION etl.finish_run(pipeline uuid, held_fence bigint, run uuid, outcome jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  held text;
  ended etl.etl_runs;
BEGIN
  SELECT p.status INTO held FROM etl.etl_pipelines p
   WHERE p.id = pipeline AND p.fence = held_fence AND p.status IN ('RUNNING', 'PAUSE_REQUESTED') FOR UPDATE;
  IF held IS NULL THEN
    RETURN jsonb_build_object('end', 'lost');
  END IF;
  -- Under the lock of the pipeline, which a repair request takes too: none is missed.
  IF outcome ->> 'status' = 'SUCCESS' AND EXISTS (SELECT FROM etl.etl_repairs q WHERE q.run_id = run AND q.repaired_at IS NULL) THEN
    RETURN jsonb_build_object('end', 'repairs');
  END IF;
  UPDATE etl.etl_runs r
     SET status = outcome ->> 'status', finished_at = clock_timestamp(), error = outcome ->> 'error',
         error_code = outcome ->> 'code', error_hint = outcome ->> 'hint'
   WHERE r.id = run AND r.status = 'RUNNING' RETURNING r.* INTO ended;
  -- A requested pause takes effect however the run ended.
  UPDATE etl.etl_pipelines p
     SET status = CASE WHEN held = 'PAUSE_REQUESTED' THEN 'PAUSED' WHEN outcome ->> 'status' = 'FAILED' THEN 'FAILED' ELSE 'IDLE' END
   WHERE p.id = pipeline;
  -- Without a row, the run was deleted from the history while it was in progress.
  RETURN jsonb_build_object('end', 'ended', 'run', CASE WHEN ended.id IS NOT NULL THEN to_jsonb(ended) || jsonb_build_object(
    'duration_ms', date_part('epoch', ended.finished_at - ended.started_at) * 1000) END);
END $$;
COMMENT ON FUNCTION etl.finish_run(uuid, bigint, uuid, jsonb) IS
  'Ends a run and releases its pipeline. "lost": another runner holds it; "repairs": it was about to succeed and has rows to repair.';

CREATE FUNCTION etl.why_waiting(pipeline uuid) RETURNS jsonb
LANGUAGE sql STABLE SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  WITH alive AS (
    SELECT tags, connection_limits FROM etl.etl_runners
     WHERE stopped_at IS NULL AND heartbeat_at > clock_timestamp() - interval '15 seconds'
  ), limited AS (
    SELECT l.key AS connection, min(l.value::integer) AS most FROM alive, jsonb_each_text(alive.connection_limits) l GROUP BY 1
  ), used AS (
    SELECT limited.connection, limited.most, (
             SELECT count(*) FROM etl.etl_pipelines h
              WHERE h.status IN ('RUNNING', 'PAUSE_REQUESTED') AND lower(limited.connection)
                    IN (etl.source_side(h.source_connection), etl.target_side(h.target_connection, h.target_table))) AS runs
      FROM limited
  )
  SELECT CASE
    WHEN NOT EXISTS (SELECT FROM alive) THEN jsonb_build_object('code', 'NO_RUNNER')
    WHEN NOT EXISTS (SELECT FROM alive WHERE etl.runner_takes(alive.tags, p.tags))
      THEN jsonb_build_object('code', 'NO_RUNNER_FOR_TAGS', 'tags', p.tags)
    ELSE (SELECT jsonb_build_object('code', 'CONNECTION_LIMIT', 'connection', used.connection, 'runs', used.runs, 'limit', used.most)
            FROM used
           WHERE used.runs >= used.most AND lower(used.connection)
                 IN (etl.source_side(p.source_connection), etl.target_side(p.target_connection, p.target_table))
           ORDER BY used.connection LIMIT 1) END
    FROM etl.etl_pipelines p WHERE p.id = pipeline AND p.status = 'RUN_REQUESTED' AND p.enabled
$$;
COMMENT ON FUNCTION etl.why_waiting(uuid) IS
  'Why the queued run of a pipeline is not claimed: no runner, none for its tags, or a connection at its limit. NULL: it is next in line for a free slot.';

CREATE FUNCTION etl.runner_demand(tag text DEFAULT NULL) RETURNS integer
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
   WHERE p.status IN ('RUNNING', 'PAUSE_REQUESTED') AND x.status IN ('PENDING', 'RUNNING') AND etl.runner_takes(slots, p.tags);
  RETURN demand + parts;
END $$;
COMMENT ON FUNCTION etl.runner_demand(text) IS
  'Slots that runners need now: queued runs, runs in progress and their open parts. With an argument only those of one tag, or those that a runner with this RUNNER_TAGS takes.';
-- An autoscaler needs no more than this and USAGE on the schema.
GRANT EXECUTE ON FUNCTION etl.runner_demand(text) TO PUBLIC;
