-- Marts that build on the same tables were published one after the other: a reader that joined two of them could see one
-- new and one old. With consistency "group", pipelines that belong together are claimed by one runner, computed in one
-- snapshot and published in one transaction. Each keeps its run, its fence and its checkpoint.
-- Compatible: an older runner takes a group only by its head, which it then runs alone; its other members wait for a runner
-- of this version.

ALTER TABLE etl.etl_pipelines
  ADD COLUMN consistency text NOT NULL DEFAULT 'none' CONSTRAINT etl_pipelines_consistency_check CHECK (consistency IN ('none', 'group'));
COMMENT ON COLUMN etl.etl_pipelines.consistency IS
  'none: the mart is published by itself. group: together with the marts of the pipelines in its group (etl.etl_pipeline_groups).';
CREATE TRIGGER version_consistency BEFORE UPDATE OF consistency ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.consistency IS DISTINCT FROM NEW.consistency) EXECUTE FUNCTION etl.version_pipeline();
CREATE INDEX etl_pipelines_consistency ON etl.etl_pipelines (id) WHERE consistency = 'group';

ALTER TABLE etl.etl_runs ADD COLUMN group_run uuid;
COMMENT ON COLUMN etl.etl_runs.group_run IS
  'The run of the head of its group: runs with the same value are published in one transaction. NULL: the run is published by itself.';
CREATE INDEX etl_runs_by_group ON etl.etl_runs (group_run) WHERE group_run IS NOT NULL;

-- Kept as a table, because every claim looks at it. Without foreign keys, as the edges; written under the same lock.
CREATE TABLE etl.etl_pipeline_groups (
  pipeline_id uuid PRIMARY KEY,
  head_id     uuid NOT NULL,
  place       integer NOT NULL
);
COMMENT ON TABLE etl.etl_pipeline_groups IS
  'The members of each group of at least two pipelines. They are claimed with the head, and computed in the order of "place".';
CREATE INDEX etl_pipeline_groups_by_head ON etl.etl_pipeline_groups (head_id);

CREATE FUNCTION etl.refresh_groups() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  able uuid[];
  members uuid[];
  head uuid;
BEGIN
  IF NOT EXISTS (SELECT FROM etl.etl_pipelines p WHERE p.consistency = 'group') AND NOT EXISTS (SELECT FROM etl.etl_pipeline_groups) THEN
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock(1986622066, 3);
  able := ARRAY(
    SELECT p.id FROM etl.etl_pipelines p JOIN etl.etl_pipeline_targets t ON t.pipeline_id = p.id
     WHERE p.consistency = 'group' AND p.enabled AND p.engine = 'local' AND NOT p.shared_target AND t.address !~ '^[a-z0-9]+:'
       AND NOT (p.mode = 'incremental' AND p.capture = 'wal'));
  -- New rows of a mart are visible only in the session that writes it: what reads them over another connection, or for
  -- transforms, follows the group instead of being a member.
  able := ARRAY(
    SELECT d.id FROM etl.etl_pipelines d
     WHERE d.id = ANY (able) AND NOT EXISTS (
       SELECT FROM etl.etl_pipeline_edges e JOIN etl.etl_pipelines u ON u.id = e.upstream_id
        WHERE e.downstream_id = d.id AND e.kind = 'lineage' AND u.id = ANY (able)
          AND (lower(d.source_connection) IS DISTINCT FROM lower(d.target_connection)
               OR EXISTS (SELECT FROM etl.etl_pipeline_tasks k WHERE k.pipeline_id = d.id AND k.task_type = 'PYTHON'))) ORDER BY d.id);
  DELETE FROM etl.etl_pipeline_groups g WHERE g.pipeline_id <> ALL (able);
  WHILE cardinality(able) > 0 LOOP
    head := able[1];
    members := ARRAY(
      -- From pipelines to the tables that they read and back, and along the edges; within one database of marts.
      WITH RECURSIVE able_one AS MATERIALIZED (
        SELECT p.id FROM etl.etl_pipelines p
         WHERE p.id = ANY (able)
           AND lower(p.target_connection) IS NOT DISTINCT FROM (SELECT lower(h.target_connection) FROM etl.etl_pipelines h WHERE h.id = head)
      ), link AS MATERIALIZED (
        SELECT p.id::text AS a, r.identity AS b FROM able_one p JOIN etl.etl_pipeline_reads r ON r.pipeline_id = p.id
        UNION SELECT r.identity, p.id::text FROM able_one p JOIN etl.etl_pipeline_reads r ON r.pipeline_id = p.id
        UNION SELECT u.id::text, d.id::text FROM etl.etl_pipeline_edges e JOIN able_one u ON u.id = e.upstream_id JOIN able_one d ON d.id = e.downstream_id
        UNION SELECT d.id::text, u.id::text FROM etl.etl_pipeline_edges e JOIN able_one u ON u.id = e.upstream_id JOIN able_one d ON d.id = e.downstream_id
      ), reached (node) AS (
        SELECT head::text UNION SELECT l.b FROM reached r JOIN link l ON l.a = r.node
      )
      SELECT p.id FROM able_one p JOIN reached r ON r.node = p.id::text);
    able := ARRAY(SELECT one FROM unnest(able) AS one WHERE one <> ALL (members) ORDER BY 1);
    IF cardinality(members) = 1 THEN
      DELETE FROM etl.etl_pipeline_groups g WHERE g.pipeline_id = head;
    ELSE
      INSERT INTO etl.etl_pipeline_groups AS g (pipeline_id, head_id, place)
      WITH RECURSIVE depth (id, steps) AS (
        SELECT unnest(members), 0
        UNION SELECT e.downstream_id, d.steps + 1 FROM depth d JOIN etl.etl_pipeline_edges e ON e.upstream_id = d.id
               WHERE e.downstream_id = ANY (members) AND d.steps < cardinality(members)
      )
      SELECT d.id, head, max(d.steps) FROM depth d GROUP BY 1
      ON CONFLICT (pipeline_id) DO UPDATE SET head_id = excluded.head_id, place = excluded.place
       WHERE (g.head_id, g.place) IS DISTINCT FROM (excluded.head_id, excluded.place);
    END IF;
  END LOOP;
END $$;
COMMENT ON FUNCTION etl.refresh_groups() IS
  'Finds the groups again: pipelines with consistency "group" and marts in one database that read a common table, or follow each other, directly or through other members.';

CREATE FUNCTION etl.regroup() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  PERFORM etl.refresh_groups();
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER regroup AFTER UPDATE ON etl.etl_pipelines DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN ((OLD.consistency = 'group' OR NEW.consistency = 'group') AND OLD.config_version IS DISTINCT FROM NEW.config_version)
  EXECUTE FUNCTION etl.regroup();
CREATE CONSTRAINT TRIGGER regroup_without AFTER DELETE ON etl.etl_pipelines DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.consistency = 'group') EXECUTE FUNCTION etl.regroup();

-- As before, and what belongs together.
CREATE OR REPLACE FUNCTION etl.refresh_edges(pipeline uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  -- Two changes at the same moment would not see each other.
  PERFORM pg_advisory_xact_lock(1986622066, 3);
  DELETE FROM etl.etl_pipeline_edges e WHERE e.upstream_id = pipeline OR e.downstream_id = pipeline;
  INSERT INTO etl.etl_pipeline_edges (upstream_id, downstream_id, kind, via)
  SELECT t.pipeline_id, r.pipeline_id, 'lineage', split_part(r.identity, '|', 2)
    FROM (SELECT * FROM etl.etl_pipeline_reads mine WHERE mine.pipeline_id = pipeline
          UNION SELECT theirs.* FROM etl.etl_pipeline_targets o JOIN etl.etl_pipeline_reads theirs USING (identity) WHERE o.pipeline_id = pipeline) r
    JOIN etl.etl_pipeline_targets t ON t.identity = r.identity AND t.pipeline_id <> r.pipeline_id
    JOIN etl.etl_pipelines d ON d.id = r.pipeline_id
   WHERE NOT r.closes_cycle AND d.after IS DISTINCT FROM '{}' AND pipeline IN (t.pipeline_id, r.pipeline_id)
  UNION
  SELECT u.id, d.id, 'declared', '' FROM etl.etl_pipelines d JOIN etl.etl_pipelines u ON u.name = ANY (d.after)
   WHERE d.id = pipeline AND u.id <> d.id
  UNION
  SELECT u.id, d.id, 'declared', '' FROM etl.etl_pipelines u JOIN etl.etl_pipelines d ON d.after @> ARRAY[u.name]
   WHERE u.id = pipeline AND d.after <> '{}' AND u.id <> d.id;
  PERFORM etl.refresh_groups();
END $$;

-- As before, but a follower that was computed in the same group is not due.
DROP FUNCTION etl.mark_followers(uuid, timestamptz);
CREATE FUNCTION etl.mark_followers(upstream uuid, first_requested timestamptz, within uuid DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  -- DO UPDATE locks a mark that exists: a follower that starts at this moment cannot settle it before the rows of this
  -- transaction are visible. A live follower receives the changes themselves.
  INSERT INTO etl.etl_due AS m (pipeline_id, upstream_id, wave)
  SELECT DISTINCT d.id, upstream, first_requested FROM etl.pipeline_edges e JOIN etl.etl_pipelines d ON d.id = e.downstream_id
   WHERE e.upstream_id = upstream AND NOT etl.is_live(d.freshness, d.mode, d.capture)
     -- What is computed together has read these rows.
     AND (within IS NULL OR NOT EXISTS (SELECT FROM etl.etl_runs r WHERE r.pipeline_id = d.id AND r.group_run = within))
   ORDER BY d.id
  ON CONFLICT (pipeline_id, upstream_id) WHERE run_id IS NULL AND upstream_id IS NOT NULL DO UPDATE SET wave = least(m.wave, excluded.wave);
  IF FOUND THEN
    PERFORM pg_notify('vitrina_run_requested', upstream::text);
  END IF;
END $$;
COMMENT ON FUNCTION etl.mark_followers(uuid, timestamptz, uuid) IS
  'Marks the followers of a pipeline whose rows have changed, except those that were computed in the same group run.';

CREATE OR REPLACE FUNCTION etl.mark_at_end() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  first_requested timestamptz := least(NEW.requested_at, (SELECT min(wave) FROM etl.etl_due WHERE run_id = NEW.id));
BEGIN
  -- What failed or is paused has not brought the mart up to date. A user who cancels a run does not want it again at once.
  IF NEW.status IN ('FAILED', 'PAUSED')
     OR NEW.status = 'CANCELLED' AND NOT (SELECT enabled FROM etl.etl_pipelines WHERE id = NEW.pipeline_id) THEN
    PERFORM etl.release_marks(NEW.id);
  END IF;
  DELETE FROM etl.etl_due WHERE run_id = NEW.id;
  DELETE FROM etl.etl_due WHERE pipeline_id = NEW.pipeline_id AND planned_run = NEW.id;
  -- Also if it failed: the next run may find nothing left to change.
  IF NEW.rows_written + NEW.rows_deleted > 0 THEN
    PERFORM etl.mark_followers(NEW.pipeline_id, first_requested, NEW.group_run);
  ELSIF EXISTS (SELECT FROM etl.etl_due WHERE run_id IS NULL) THEN
    -- A follower may have waited only for this end.
    PERFORM pg_notify('vitrina_run_requested', NEW.pipeline_id::text);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION etl.date_run() RETURNS trigger
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
    SELECT min(etl.data_as_of(e.upstream_id)) FROM etl.pipeline_edges e WHERE e.downstream_id = NEW.pipeline_id
       -- What is computed together is new when this one reads it.
       AND (NEW.group_run IS NULL OR NOT EXISTS (SELECT FROM etl.etl_pipeline_groups a JOIN etl.etl_pipeline_groups b USING (head_id)
                                                  WHERE a.pipeline_id = e.upstream_id AND b.pipeline_id = NEW.pipeline_id))));
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION etl.pending_pipelines()
RETURNS TABLE (pipeline_id uuid, since timestamptz, planned_run uuid, code text, upstream_id uuid)
LANGUAGE sql STABLE SET search_path TO 'pg_catalog', 'pg_temp'
-- A plan that was made for one marked pipeline must also be good for a thousand: 40 ms instead of 350.
SET enable_nestloop TO off
AS $$
  WITH RECURSIVE marked AS MATERIALIZED (
    SELECT m.pipeline_id AS id, min(m.since) AS since, min(m.wave) AS wave,
           (array_agg(m.planned_run) FILTER (WHERE m.planned_run IS NOT NULL))[1] AS planned_run
      FROM etl.etl_due m WHERE m.run_id IS NULL GROUP BY 1
  ), mate AS MATERIALIZED (
    SELECT a.pipeline_id AS u, b.pipeline_id AS d FROM etl.etl_pipeline_groups a JOIN etl.etl_pipeline_groups b USING (head_id)
     WHERE a.pipeline_id <> b.pipeline_id
  ), above AS MATERIALIZED (
    -- Members of a group do not wait for each other: they run together.
    SELECT DISTINCT e.upstream_id AS u, e.downstream_id AS d FROM etl.etl_pipeline_edges e
     WHERE NOT EXISTS (SELECT FROM etl.etl_pipeline_groups a JOIN etl.etl_pipeline_groups b USING (head_id)
                        WHERE a.pipeline_id = e.upstream_id AND b.pipeline_id = e.downstream_id)
  ), link AS MATERIALIZED (
    -- What one member of a group waits for, all of them wait for.
    SELECT * FROM above UNION ALL SELECT * FROM mate
  ), relevant (id) AS (
    -- Marked pipelines and what is above them.
    SELECT m.id FROM marked m
    UNION SELECT l.u FROM relevant r JOIN link l ON l.d = r.id
  ), edge AS MATERIALIZED (
    SELECT a.u, a.d FROM relevant r JOIN above a ON a.d = r.id
  ), node AS MATERIALIZED (
    SELECT p.id, p.status, p.enabled, p.on_upstream_failure = 'wait' AS waits, m.id IS NOT NULL AS is_marked, p.current_run_id,
           -- A run that was requested together with others starts also after a failure, as any requested run.
           p.enabled AND (p.status = 'IDLE' OR m.planned_run IS NOT NULL AND p.status IN ('FAILED', 'PAUSED')) AS startable,
           (p.status IN ('RUNNING', 'PAUSE_REQUESTED') OR p.status = 'RUN_REQUESTED' AND p.enabled)
             AND NOT etl.is_live(p.freshness, p.mode, p.capture) AS active
      FROM relevant r JOIN etl.etl_pipelines p USING (id) LEFT JOIN marked m USING (id)
  ), stuck (id) AS (
    -- What does not run before an operator acts, and what waits for it.
    SELECT n.id FROM node n WHERE n.enabled AND n.status IN ('FAILED', 'PAUSED') AND NOT n.startable
    UNION
    SELECT n.id FROM stuck s JOIN link e ON e.u = s.id JOIN node n ON n.id = e.d WHERE n.is_marked AND n.startable AND n.waits
  ), moving AS MATERIALIZED (
    SELECT n.id FROM node n WHERE n.active OR n.is_marked AND n.startable AND n.id NOT IN (SELECT s.id FROM stuck s)
  ), blocked (id) AS (
    -- Everything below a pipeline that runs or is about to. A disabled pipeline passes nothing on.
    SELECT e.d FROM moving m JOIN edge e ON e.u = m.id
    UNION
    SELECT e.d FROM blocked b JOIN node n ON n.id = b.id AND n.enabled JOIN link e ON e.u = b.id
  ), patient AS MATERIALIZED (
    -- Upstreams that always run must not keep a follower waiting permanently: after ten seconds it waits only for the waves
    -- that had begun when it was marked. A few at a time, because this looks at each ancestor of each of them.
    SELECT m.id, m.since FROM marked m JOIN blocked b USING (id) JOIN node n USING (id)
     WHERE n.startable AND m.since < clock_timestamp() - interval '10 seconds' AND m.id NOT IN (SELECT s.id FROM stuck s)
     ORDER BY random() LIMIT 5
  ), ancestor (follower, since, id) AS (
    SELECT p.id, p.since, e.u FROM patient p JOIN edge e ON e.d = p.id
    UNION
    SELECT a.follower, a.since, e.u FROM ancestor a JOIN node n ON n.id = a.id AND n.enabled JOIN edge e ON e.d = a.id
  ), same_wave AS MATERIALIZED (
    SELECT DISTINCT a.follower AS id FROM ancestor a JOIN moving v ON v.id = a.id JOIN node n ON n.id = a.id LEFT JOIN marked m ON m.id = a.id
     WHERE a.since >= CASE WHEN n.active
             THEN least((SELECT r.requested_at FROM etl.etl_runs r WHERE r.id = n.current_run_id),
                        (SELECT min(w.wave) FROM etl.etl_due w WHERE w.run_id = n.current_run_id))
             ELSE m.wave END
  ), failed AS MATERIALIZED (
    SELECT DISTINCT ON (e.d) e.d AS id, e.u, f.status FROM link e JOIN stuck s ON s.id = e.u JOIN node f ON f.id = e.u
     ORDER BY e.d, f.status <> 'FAILED', f.status <> 'PAUSED', e.u
  ), blocker AS MATERIALIZED (
    SELECT DISTINCT ON (e.d) e.d AS id, e.u FROM link e JOIN marked m ON m.id = e.d LEFT JOIN moving v ON v.id = e.u AND (e.u, e.d) NOT IN (SELECT m.u, m.d FROM mate m)
     WHERE v.id IS NOT NULL OR e.u IN (SELECT b.id FROM blocked b) ORDER BY e.d, v.id IS NULL, e.u
  )
  SELECT m.id, m.since, m.planned_run, why.code,
         CASE why.code WHEN 'UPSTREAM_RUNS' THEN blocker.u WHEN 'UPSTREAM_FAILED' THEN failed.u WHEN 'UPSTREAM_PAUSED' THEN failed.u
                       WHEN 'UPSTREAM_HELD' THEN failed.u END
    FROM marked m JOIN node n USING (id) LEFT JOIN failed ON failed.id = m.id AND n.waits LEFT JOIN blocker ON blocker.id = m.id
   CROSS JOIN LATERAL (SELECT CASE
     WHEN NOT n.enabled THEN 'PIPELINE_DISABLED'
     WHEN n.status IN ('RUN_REQUESTED', 'RUNNING', 'PAUSE_REQUESTED') THEN 'PIPELINE_ACTIVE'
     WHEN NOT n.startable THEN 'PIPELINE_' || n.status
     WHEN failed.u IS NOT NULL THEN CASE WHEN failed.status IN ('FAILED', 'PAUSED') THEN 'UPSTREAM_' || failed.status ELSE 'UPSTREAM_HELD' END
     WHEN n.id IN (SELECT b.id FROM blocked b)
      AND (n.id NOT IN (SELECT p.id FROM patient p) OR n.id IN (SELECT w.id FROM same_wave w)) THEN 'UPSTREAM_RUNS' END AS code) why
$$;

-- As before, and what was queued pulls the rest of its group along.
CREATE OR REPLACE FUNCTION etl.request_due_runs() RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  due uuid[];
  one record;
  taken bigint[];
  planned uuid;
  requested uuid;
  outer_trigger text := coalesce(current_setting('vitrina.trigger', true), '');
BEGIN
  IF NOT EXISTS (SELECT FROM etl.etl_due WHERE run_id IS NULL)
     AND NOT EXISTS (SELECT FROM etl.etl_pipeline_groups g JOIN etl.etl_pipelines p ON p.id = g.pipeline_id WHERE p.status = 'RUN_REQUESTED') THEN
    RETURN;
  END IF;
  -- One decision at a time. The statements below see what the previous one has committed.
  PERFORM pg_advisory_xact_lock(1986622066, 2);
  due := ARRAY(SELECT p.pipeline_id FROM etl.pending_pipelines() p WHERE p.code IS NULL);
  -- SKIP LOCKED: a session that holds one pipeline must not block the others; the next call retries.
  FOR one IN SELECT p.id, p.status FROM etl.etl_pipelines p
              WHERE p.id = ANY (due) AND p.enabled AND p.status IN ('IDLE', 'FAILED', 'PAUSED') ORDER BY p.id FOR UPDATE SKIP LOCKED
  LOOP
    -- Read under the lock of the pipeline: a run that began and ended meanwhile has settled its marks.
    taken := ARRAY(SELECT m.id FROM etl.etl_due m WHERE m.pipeline_id = one.id AND m.run_id IS NULL FOR UPDATE SKIP LOCKED);
    planned := (SELECT m.planned_run FROM etl.etl_due m WHERE m.id = ANY (taken) AND m.planned_run IS NOT NULL);
    CONTINUE WHEN cardinality(taken) = 0 OR planned IS NULL AND one.status <> 'IDLE';
    PERFORM set_config('vitrina.trigger', 'upstream', true), set_config('vitrina.run_id', coalesce(planned::text, ''), true);
    UPDATE etl.etl_pipelines p SET status = 'RUN_REQUESTED' WHERE p.id = one.id RETURNING p.current_run_id INTO requested;
    UPDATE etl.etl_due m SET run_id = requested WHERE m.id = ANY (taken);
    RETURN NEXT requested;
  END LOOP;
  -- A group runs as a whole: if one of its members is queued, the others are requested as well.
  PERFORM set_config('vitrina.trigger', 'group', true);
  FOR one IN SELECT p.id, m.planned_run
               FROM etl.etl_pipeline_groups g JOIN etl.etl_pipelines p ON p.id = g.pipeline_id
               LEFT JOIN etl.etl_due m ON m.pipeline_id = p.id AND m.run_id IS NULL AND m.planned_run IS NOT NULL
              WHERE p.enabled AND p.status IN ('IDLE', 'FAILED', 'PAUSED')
                AND g.head_id IN (SELECT o.head_id FROM etl.etl_pipeline_groups o JOIN etl.etl_pipelines q ON q.id = o.pipeline_id
                                   WHERE q.status = 'RUN_REQUESTED' AND q.enabled)
              ORDER BY p.id FOR UPDATE OF p SKIP LOCKED
  LOOP
    PERFORM set_config('vitrina.run_id', coalesce(one.planned_run::text, ''), true);
    UPDATE etl.etl_pipelines p SET status = 'RUN_REQUESTED' WHERE p.id = one.id AND p.status IN ('IDLE', 'FAILED', 'PAUSED')
    RETURNING p.current_run_id INTO requested;
    CONTINUE WHEN NOT FOUND;
    UPDATE etl.etl_due m SET run_id = requested WHERE m.planned_run = requested AND m.run_id IS NULL;
    RETURN NEXT requested;
  END LOOP;
  PERFORM set_config('vitrina.trigger', outer_trigger, true), set_config('vitrina.run_id', '', true);
END $$;

CREATE OR REPLACE FUNCTION etl.plan_wave(pipeline uuid, direction text) RETURNS TABLE (pipeline_id uuid, run_id uuid, is_new boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  member record;
BEGIN
  PERFORM pg_advisory_xact_lock(1986622066, 2);
  FOR member IN
    WITH RECURSIVE edge AS MATERIALIZED (
      SELECT DISTINCT e.upstream_id AS u, e.downstream_id AS d FROM etl.pipeline_edges e
    ), able AS MATERIALIZED (
      SELECT p.id FROM etl.etl_pipelines p WHERE p.enabled AND NOT etl.is_live(p.freshness, p.mode, p.capture) OR p.id = pipeline
    ), up (id) AS (
      SELECT pipeline UNION SELECT e.u FROM up JOIN edge e ON e.d = up.id JOIN able ON able.id = e.u WHERE direction IN ('upstream', 'all')
    ), down (id) AS (
      SELECT pipeline UNION SELECT e.d FROM down JOIN edge e ON e.u = down.id JOIN able ON able.id = e.d WHERE direction IN ('downstream', 'all')
    ), reached AS MATERIALIZED (
      SELECT up.id FROM up UNION SELECT down.id FROM down
    ), chosen AS MATERIALIZED (
      -- A group runs as a whole.
      SELECT r.id FROM reached r
      UNION SELECT m.pipeline_id FROM reached r JOIN etl.etl_pipeline_groups g ON g.pipeline_id = r.id JOIN etl.etl_pipeline_groups m USING (head_id)
    )
    SELECT p.id, p.status, p.current_run_id, p.config_version, EXISTS (SELECT FROM edge e JOIN chosen u ON u.id = e.u WHERE e.d = p.id) AS follows
      FROM chosen JOIN etl.etl_pipelines p USING (id) ORDER BY p.id FOR UPDATE OF p
  LOOP
    pipeline_id := member.id;
    -- The first ones of a wave have nothing to wait for: the run that is queued or in progress is theirs, as for any request.
    IF NOT member.follows AND member.status IN ('RUN_REQUESTED', 'RUNNING', 'PAUSE_REQUESTED') THEN
      run_id := member.current_run_id;
      is_new := false;
    ELSE
      run_id := (SELECT m.planned_run FROM etl.etl_due m WHERE m.pipeline_id = member.id AND m.run_id IS NULL AND m.planned_run IS NOT NULL);
      is_new := run_id IS NULL;
      IF is_new THEN
        INSERT INTO etl.etl_runs (pipeline_id, config_version, trigger, traceparent)
        VALUES (member.id, member.config_version, coalesce(nullif(current_setting('vitrina.trigger', true), ''), 'sql'),
                nullif(current_setting('vitrina.traceparent', true), '')) RETURNING id INTO run_id;
        INSERT INTO etl.etl_due (pipeline_id, planned_run) VALUES (member.id, run_id);
      END IF;
    END IF;
    RETURN NEXT;
  END LOOP;
  PERFORM etl.request_due_runs();
END $$;

-- What a claim does with one pipeline; it was a part of etl.claim_run.
CREATE FUNCTION etl.take_run(found_one etl.etl_pipelines, runner text, lease_seconds double precision, within uuid) RETURNS jsonb
LANGUAGE plpgsql SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  held etl.etl_pipelines;
  died integer;
  run etl.etl_runs;
BEGIN
  UPDATE etl.etl_pipelines p
     SET status = CASE p.status WHEN 'RUN_REQUESTED' THEN 'RUNNING' ELSE p.status END, fence = p.fence + 1,
         lease_owner = runner, lease_until = clock_timestamp() + make_interval(secs => lease_seconds)
   WHERE p.id = found_one.id RETURNING p.* INTO held;

  died := (found_one.status <> 'RUN_REQUESTED' AND found_one.lease_owner IS NOT NULL)::integer;
  -- The history may have been cleared meanwhile: without its run, the pipeline would stop the whole queue.
  INSERT INTO etl.etl_runs AS r (id, pipeline_id, status, started_at, runner_id, attempt, deaths, config_version, group_run)
  VALUES (held.current_run_id, held.id, 'RUNNING', clock_timestamp(), runner, 1, died, held.config_version, within)
  ON CONFLICT (id) DO UPDATE
     SET status = 'RUNNING', started_at = coalesce(r.started_at, clock_timestamp()), runner_id = excluded.runner_id,
         attempt = r.attempt + 1, deaths = r.deaths + died, config_version = excluded.config_version, stalled_since = NULL, group_run = excluded.group_run,
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
COMMENT ON FUNCTION etl.take_run(etl.etl_pipelines, text, double precision, uuid) IS
  'Gives a pipeline that the caller has locked to a runner. "within": the run of the head of its group.';

-- As before, but a group is claimed as a whole, by its head: from the queue when every member is queued.
CREATE OR REPLACE FUNCTION etl.claim_run(runner text, lease_seconds double precision, free jsonb, limits jsonb, served jsonb) RETURNS jsonb
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
  -- Groups of which a session holds a pipeline.
  skipped uuid[] := '{}';
  mates uuid[];
  taken jsonb;
BEGIN
  <<search>> LOOP
  found_one := NULL;
  -- SKIP LOCKED everywhere: concurrent runners claim different pipelines instead of waiting for each other.
  -- A run whose holder is silent comes first. It already counts against the limits of its connections.
  SELECT p.* INTO found_one FROM etl.etl_pipelines p
   WHERE p.status IN ('RUNNING', 'PAUSE_REQUESTED') AND (p.lease_until IS NULL OR p.lease_until < clock_timestamp())
     AND NOT p.tags && full_tags AND (takes_rest OR p.tags && open_tags)
     -- Members of a group are claimed with its head.
     AND p.id <> ALL (skipped) AND NOT EXISTS (
       SELECT FROM etl.etl_pipeline_groups g JOIN etl.etl_pipelines h ON h.id = g.head_id
        WHERE g.pipeline_id = p.id AND g.head_id <> p.id AND h.status IN ('RUNNING', 'PAUSE_REQUESTED'))
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
         AND p.id <> ALL (skipped) AND NOT EXISTS (
           SELECT FROM etl.etl_pipeline_groups g JOIN etl.etl_pipeline_groups m USING (head_id) JOIN etl.etl_pipelines q ON q.id = m.pipeline_id
            WHERE g.pipeline_id = p.id AND (g.head_id <> p.id OR q.status <> 'RUN_REQUESTED'))
       ORDER BY p.requested_at LIMIT 1 FOR UPDATE SKIP LOCKED;
      EXIT WHEN found_one.id IS NOT NULL;
    END LOOP;
    IF found_one.id IS NULL THEN
      RETURN NULL;
    END IF;
  END IF;

  -- Of a run that is taken over only what its holder held: another runner may work on a pipeline that joined the group since.
  mates := ARRAY(
    SELECT p.id FROM etl.etl_pipeline_groups g JOIN etl.etl_pipelines p ON p.id = g.pipeline_id
     WHERE g.head_id = found_one.id AND p.id <> found_one.id AND (p.status = 'RUN_REQUESTED' AND p.enabled
        OR p.status IN ('RUNNING', 'PAUSE_REQUESTED') AND (coalesce(p.lease_until, '-infinity') < clock_timestamp() OR p.lease_owner = found_one.lease_owner)));
  EXIT search WHEN cardinality(mates) = 0 OR cardinality(mates) = (
    SELECT count(*) FROM (SELECT FROM etl.etl_pipelines p WHERE p.id = ANY (mates) ORDER BY p.id FOR UPDATE SKIP LOCKED) locked);
  skipped := skipped || found_one.id;
  END LOOP;

  IF cardinality(mates) = 0 THEN
    RETURN etl.take_run(found_one, runner, lease_seconds, NULL);
  END IF;
  taken := etl.take_run(found_one, runner, lease_seconds, found_one.current_run_id);
  RETURN taken || jsonb_build_object('members', (
    SELECT jsonb_agg(CASE WHEN p.id = found_one.id THEN jsonb_build_object('pipeline', jsonb_build_object('id', p.id))
                          ELSE etl.take_run(p, runner, lease_seconds, found_one.current_run_id) END ORDER BY g.place, p.name)
      FROM etl.etl_pipeline_groups g JOIN etl.etl_pipelines p ON p.id = g.pipeline_id
     WHERE g.head_id = found_one.id AND (p.id = found_one.id OR p.id = ANY (mates))));
END $$;

CREATE FUNCTION etl.finish_group(runs jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  one jsonb;
  ended jsonb := '[]';
BEGIN
  PERFORM FROM etl.etl_pipelines p WHERE p.id IN (SELECT (r ->> 'pipeline')::uuid FROM jsonb_array_elements(runs) r) ORDER BY p.id FOR UPDATE;
  IF EXISTS (SELECT FROM jsonb_array_elements(runs) r
              WHERE NOT EXISTS (SELECT FROM etl.etl_pipelines p WHERE p.id = (r ->> 'pipeline')::uuid AND p.fence = (r ->> 'fence')::bigint
                                   AND p.status IN ('RUNNING', 'PAUSE_REQUESTED'))) THEN
    RETURN jsonb_build_object('end', 'lost');
  END IF;
  IF EXISTS (SELECT FROM jsonb_array_elements(runs) r JOIN etl.etl_repairs q ON q.run_id = (r ->> 'run')::uuid
              WHERE r -> 'outcome' ->> 'status' = 'SUCCESS' AND q.repaired_at IS NULL) THEN
    RETURN jsonb_build_object('end', 'repairs');
  END IF;
  -- A group is paused as a whole.
  IF EXISTS (SELECT FROM jsonb_array_elements(runs) r JOIN etl.etl_pipelines p ON p.id = (r ->> 'pipeline')::uuid WHERE p.status = 'PAUSE_REQUESTED') THEN
    UPDATE etl.etl_pipelines p SET status = 'PAUSE_REQUESTED'
      FROM jsonb_array_elements(runs) r WHERE p.id = (r ->> 'pipeline')::uuid AND p.status = 'RUNNING';
  END IF;
  FOR one IN SELECT r FROM jsonb_array_elements(runs) WITH ORDINALITY AS e(r, n) ORDER BY n LOOP
    ended := ended || jsonb_build_array(
      etl.finish_run((one ->> 'pipeline')::uuid, (one ->> 'fence')::bigint, (one ->> 'run')::uuid, one -> 'outcome') -> 'run');
  END LOOP;
  RETURN jsonb_build_object('end', 'ended', 'runs', ended);
END $$;
COMMENT ON FUNCTION etl.finish_group(jsonb) IS
  'Ends the runs of a group together, as etl.finish_run does: all of them or none.';

REVOKE EXECUTE ON FUNCTION etl.mark_followers(uuid, timestamptz, uuid), etl.refresh_groups() FROM PUBLIC;
