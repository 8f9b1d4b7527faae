-- Pipelines did not know each other: a mart that reads another mart ran whenever its own schedule said. Edges are now
-- read from lineage: a pipeline follows those that fill the tables it reads. The end of a run that changed rows marks
-- its followers in the same transaction, and one function decides which of them run.
-- Compatible: older runners mark followers through the triggers, but do not start them. At least one runner or API has
-- to be of this version.

ALTER TABLE etl.etl_pipelines
  ADD COLUMN after text[] CONSTRAINT etl_pipelines_after_check
    CHECK (cardinality(after) <= 100 AND array_position(after, NULL) IS NULL),
  ADD COLUMN on_upstream_failure text NOT NULL DEFAULT 'wait' CONSTRAINT etl_pipelines_on_upstream_failure_check
    CHECK (on_upstream_failure IN ('wait', 'run'));
COMMENT ON COLUMN etl.etl_pipelines.after IS
  'NULL: follow the pipelines that fill the tables that it reads. Names: follow these as well. Empty: follow none.';
COMMENT ON COLUMN etl.etl_pipelines.on_upstream_failure IS
  'wait: a direct upstream that failed or is paused holds the pipeline back. run: it runs anyway.';
CREATE TRIGGER version_order BEFORE UPDATE OF after, on_upstream_failure ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.after IS DISTINCT FROM NEW.after OR OLD.on_upstream_failure IS DISTINCT FROM NEW.on_upstream_failure)
  EXECUTE FUNCTION etl.version_pipeline();
CREATE INDEX etl_pipelines_after ON etl.etl_pipelines USING gin (after) WHERE after <> '{}';

-- Names stay valid when a pipeline is renamed.
CREATE FUNCTION etl.rename_in_order() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  UPDATE etl.etl_pipelines SET after = array_replace(after, OLD.name, NEW.name) WHERE after @> ARRAY[OLD.name] AND after <> '{}';
  RETURN NULL;
END $$;
CREATE TRIGGER rename_in_order AFTER UPDATE OF name ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.name IS DISTINCT FROM NEW.name) EXECUTE FUNCTION etl.rename_in_order();

-- In the form of etl_pipeline_targets.identity, so that an edge is a join.
CREATE TABLE etl.etl_pipeline_reads (
  pipeline_id  uuid NOT NULL REFERENCES etl.etl_pipelines (id) ON DELETE CASCADE,
  identity     text NOT NULL,
  closes_cycle boolean NOT NULL DEFAULT false,
  PRIMARY KEY (pipeline_id, identity)
);
COMMENT ON TABLE etl.etl_pipeline_reads IS
  'The tables that each pipeline reads, those behind views included, under every name of their database. Written when a pipeline is saved, and by each run that finds something else.';
COMMENT ON COLUMN etl.etl_pipeline_reads.closes_cycle IS
  'A run found that following this table would be a cycle: it is not followed.';
CREATE INDEX etl_pipeline_reads_by_identity ON etl.etl_pipeline_reads (identity);

-- What follows from reads, targets and names, kept as a table: a decision looks at all of it. Without foreign keys, as
-- the marks below.
CREATE TABLE etl.etl_pipeline_edges (
  upstream_id   uuid NOT NULL,
  downstream_id uuid NOT NULL,
  kind          text NOT NULL CONSTRAINT etl_pipeline_edges_kind_check CHECK (kind IN ('lineage', 'declared')),
  via           text NOT NULL DEFAULT '',
  PRIMARY KEY (upstream_id, downstream_id, kind, via)
);
CREATE INDEX etl_pipeline_edges_down ON etl.etl_pipeline_edges (downstream_id, upstream_id);
CREATE VIEW etl.pipeline_edges AS
  SELECT e.upstream_id, e.downstream_id, e.kind, nullif(e.via, '') AS via FROM etl.etl_pipeline_edges e;
COMMENT ON VIEW etl.pipeline_edges IS 'Which pipeline follows which, and through which table.';

CREATE FUNCTION etl.refresh_edges(pipeline uuid) RETURNS void
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
END $$;
COMMENT ON FUNCTION etl.refresh_edges(uuid) IS 'Finds again what a pipeline follows, and what follows it.';

-- Without foreign keys: the end of a run must not wait for a lock on the pipelines that follow it.
CREATE TABLE etl.etl_due (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  pipeline_id uuid NOT NULL,
  upstream_id uuid,
  since       timestamptz NOT NULL DEFAULT now(),
  wave        timestamptz NOT NULL DEFAULT now(),
  planned_run uuid,
  run_id      uuid,
  CONSTRAINT etl_due_reason CHECK ((upstream_id IS NULL) <> (planned_run IS NULL))
);
COMMENT ON TABLE etl.etl_due IS
  'Pipelines that have to run because an upstream changed rows, or because a run was requested together with others.';
COMMENT ON COLUMN etl.etl_due.wave IS
  'When the first run of the chain was requested that led to this mark. A follower does not wait permanently for runs of later waves.';
COMMENT ON COLUMN etl.etl_due.planned_run IS 'The run that was requested together with others; it runs also if nothing changed.';
COMMENT ON COLUMN etl.etl_due.run_id IS 'The run that settles the mark. NULL: none yet.';
CREATE UNIQUE INDEX etl_due_pending ON etl.etl_due (pipeline_id, upstream_id) WHERE run_id IS NULL AND upstream_id IS NOT NULL;
CREATE UNIQUE INDEX etl_due_planned ON etl.etl_due (pipeline_id) WHERE run_id IS NULL AND planned_run IS NOT NULL;
CREATE INDEX etl_due_by_run ON etl.etl_due (run_id) WHERE run_id IS NOT NULL;

CREATE FUNCTION etl.is_live(freshness text, mode text, capture text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT coalesce(freshness = 'live' AND mode = 'incremental' AND capture = 'wal', false) $$;

CREATE FUNCTION etl.mark_followers(upstream uuid, first_requested timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  -- DO UPDATE locks a mark that exists: a follower that starts at this moment cannot settle it before the rows of this
  -- transaction are visible. A live follower receives the changes themselves.
  INSERT INTO etl.etl_due AS m (pipeline_id, upstream_id, wave)
  SELECT DISTINCT d.id, upstream, first_requested FROM etl.pipeline_edges e JOIN etl.etl_pipelines d ON d.id = e.downstream_id
   WHERE e.upstream_id = upstream AND NOT etl.is_live(d.freshness, d.mode, d.capture) ORDER BY d.id
  ON CONFLICT (pipeline_id, upstream_id) WHERE run_id IS NULL AND upstream_id IS NOT NULL DO UPDATE SET wave = least(m.wave, excluded.wave);
  IF FOUND THEN
    PERFORM pg_notify('vitrina_run_requested', upstream::text);
  END IF;
END $$;
COMMENT ON FUNCTION etl.mark_followers(uuid, timestamptz) IS 'Marks the followers of a pipeline whose rows have changed.';

CREATE FUNCTION etl.release_marks(run uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  WITH released AS (DELETE FROM etl.etl_due WHERE run_id = run AND upstream_id IS NOT NULL RETURNING pipeline_id, upstream_id, since, wave)
  INSERT INTO etl.etl_due AS m (pipeline_id, upstream_id, since, wave)
  SELECT pipeline_id, upstream_id, min(since), min(wave) FROM released GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (pipeline_id, upstream_id) WHERE run_id IS NULL AND upstream_id IS NOT NULL
  DO UPDATE SET since = least(m.since, excluded.since), wave = least(m.wave, excluded.wave)
$$;
COMMENT ON FUNCTION etl.release_marks(uuid) IS 'Makes the marks of a run pending again.';

-- A run that begins settles the marks made before: it reads what they stand for.
CREATE FUNCTION etl.take_marks() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM etl.etl_due WHERE pipeline_id = NEW.pipeline_id) THEN
    RETURN NULL;
  END IF;
  -- A run that resumes where the previous one stopped does not read its first rows again: its marks need another run.
  IF (SELECT last.status <> 'SUCCESS' AND last.batches > 0
        FROM (SELECT r.status, r.batches, r.finished_at FROM etl.etl_runs r
               WHERE r.pipeline_id = NEW.pipeline_id AND r.finished_at IS NOT NULL ORDER BY r.requested_at DESC, r.id DESC LIMIT 20) last
       ORDER BY last.finished_at DESC LIMIT 1) THEN
    PERFORM etl.release_marks(NEW.id);
  ELSE
    -- SKIP LOCKED: a mark whose rows are about to be committed is left to the next run.
    UPDATE etl.etl_due SET run_id = NEW.id
     WHERE id IN (SELECT m.id FROM etl.etl_due m
                   WHERE m.pipeline_id = NEW.pipeline_id AND m.run_id IS NULL AND m.upstream_id IS NOT NULL FOR UPDATE SKIP LOCKED);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER take_marks AFTER UPDATE OF status ON etl.etl_runs
  FOR EACH ROW WHEN (OLD.status = 'REQUESTED' AND NEW.status = 'RUNNING') EXECUTE FUNCTION etl.take_marks();

-- In the transaction that ends the run, whichever process ends it: a runner that dies afterwards loses nothing.
CREATE FUNCTION etl.mark_at_end() RETURNS trigger
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
    PERFORM etl.mark_followers(NEW.pipeline_id, first_requested);
  ELSIF EXISTS (SELECT FROM etl.etl_due WHERE run_id IS NULL) THEN
    -- A follower may have waited only for this end.
    PERFORM pg_notify('vitrina_run_requested', NEW.pipeline_id::text);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER mark_at_end AFTER UPDATE OF status ON etl.etl_runs
  FOR EACH ROW WHEN (OLD.status IN ('REQUESTED', 'RUNNING') AND NEW.status IN ('SUCCESS', 'FAILED', 'PAUSED', 'CANCELLED'))
  EXECUTE FUNCTION etl.mark_at_end();

-- The run of a live pipeline does not end: each of its batches marks its followers.
CREATE FUNCTION etl.mark_at_batch() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  live uuid := (SELECT p.id FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id
                 WHERE r.id = NEW.run_id AND etl.is_live(p.freshness, p.mode, p.capture));
BEGIN
  IF live IS NOT NULL THEN
    PERFORM etl.mark_followers(live, now());
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER mark_at_batch AFTER INSERT OR UPDATE ON etl.etl_run_batches
  FOR EACH ROW WHEN (NEW.rows_inserted + NEW.rows_updated + NEW.rows_deleted > 0) EXECUTE FUNCTION etl.mark_at_batch();

-- With the mart in another database a batch is recorded just before it is committed there. Its holder marks again after
-- the commit; if it died in between, the next one does.
CREATE FUNCTION etl.mark_at_takeover() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  IF EXISTS (SELECT FROM etl.etl_pipelines p WHERE p.id = NEW.pipeline_id AND p.target_connection IS NOT NULL
                                               AND etl.is_live(p.freshness, p.mode, p.capture)) THEN
    PERFORM etl.mark_followers(NEW.pipeline_id, now());
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER mark_at_takeover AFTER UPDATE OF attempt ON etl.etl_runs
  FOR EACH ROW WHEN (NEW.attempt > OLD.attempt AND OLD.attempt > 0 AND NEW.batches > 0) EXECUTE FUNCTION etl.mark_at_takeover();

-- Marks that a deleted upstream has made stay: its last rows were not read yet.
CREATE FUNCTION etl.drop_marks() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  DELETE FROM etl.etl_due WHERE pipeline_id = OLD.id;
  DELETE FROM etl.etl_pipeline_edges WHERE upstream_id = OLD.id OR downstream_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER drop_marks AFTER DELETE ON etl.etl_pipelines FOR EACH ROW EXECUTE FUNCTION etl.drop_marks();

CREATE FUNCTION etl.pending_pipelines()
RETURNS TABLE (pipeline_id uuid, since timestamptz, planned_run uuid, code text, upstream_id uuid)
LANGUAGE sql STABLE SET search_path TO 'pg_catalog', 'pg_temp'
-- A plan that was made for one marked pipeline must also be good for a thousand: 40 ms instead of 350.
SET enable_nestloop TO off
AS $$
  WITH RECURSIVE marked AS MATERIALIZED (
    SELECT m.pipeline_id AS id, min(m.since) AS since, min(m.wave) AS wave,
           (array_agg(m.planned_run) FILTER (WHERE m.planned_run IS NOT NULL))[1] AS planned_run
      FROM etl.etl_due m WHERE m.run_id IS NULL GROUP BY 1
  ), relevant (id) AS (
    -- Marked pipelines and what is above them.
    SELECT m.id FROM marked m
    UNION SELECT e.upstream_id FROM relevant r JOIN etl.etl_pipeline_edges e ON e.downstream_id = r.id
  ), edge AS MATERIALIZED (
    SELECT DISTINCT e.upstream_id AS u, e.downstream_id AS d FROM relevant r JOIN etl.etl_pipeline_edges e ON e.downstream_id = r.id
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
    SELECT n.id FROM stuck s JOIN edge e ON e.u = s.id JOIN node n ON n.id = e.d WHERE n.is_marked AND n.startable AND n.waits
  ), moving AS MATERIALIZED (
    SELECT n.id FROM node n WHERE n.active OR n.is_marked AND n.startable AND n.id NOT IN (SELECT s.id FROM stuck s)
  ), blocked (id) AS (
    -- Everything below a pipeline that runs or is about to. A disabled pipeline passes nothing on.
    SELECT e.d FROM moving m JOIN edge e ON e.u = m.id
    UNION
    SELECT e.d FROM blocked b JOIN node n ON n.id = b.id AND n.enabled JOIN edge e ON e.u = b.id
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
    SELECT DISTINCT ON (e.d) e.d AS id, e.u, f.status FROM edge e JOIN stuck s ON s.id = e.u JOIN node f ON f.id = e.u
     ORDER BY e.d, f.status <> 'FAILED', f.status <> 'PAUSED', e.u
  ), blocker AS MATERIALIZED (
    SELECT DISTINCT ON (e.d) e.d AS id, e.u FROM edge e JOIN marked m ON m.id = e.d LEFT JOIN moving v ON v.id = e.u
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
COMMENT ON FUNCTION etl.pending_pipelines() IS
  'Every marked pipeline, and why it does not run yet. A code of NULL: it is due.';

CREATE FUNCTION etl.why_held(pipeline uuid) RETURNS jsonb
LANGUAGE sql STABLE SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  SELECT jsonb_build_object('code', h.code, 'upstream', (SELECT u.name FROM etl.etl_pipelines u WHERE u.id = h.upstream_id))
    FROM etl.pending_pipelines() h WHERE h.pipeline_id = pipeline AND h.code IS NOT NULL
$$;
COMMENT ON FUNCTION etl.why_held(uuid) IS 'Why a marked pipeline does not run yet. NULL: it is due, or not marked.';

CREATE FUNCTION etl.request_due_runs() RETURNS SETOF uuid
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
  IF NOT EXISTS (SELECT FROM etl.etl_due WHERE run_id IS NULL) THEN
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
  PERFORM set_config('vitrina.trigger', outer_trigger, true), set_config('vitrina.run_id', '', true);
END $$;
COMMENT ON FUNCTION etl.request_due_runs() IS
  'Decides which marked pipelines are due and requests their runs. Any runner may call it at any time.';

-- As before, and the run may have been planned: then its id is known already.
CREATE OR REPLACE FUNCTION etl.move_pipeline() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  IF NOT etl.is_transition(OLD.status, NEW.status) THEN
    RAISE EXCEPTION 'pipeline "%" cannot move from % to %', OLD.name, OLD.status, NEW.status
      USING ERRCODE = 'VT001',
            HINT = 'Allowed: IDLE, PAUSED or FAILED to RUN_REQUESTED; RUN_REQUESTED to RUNNING; '
                   'RUNNING to IDLE, FAILED or PAUSE_REQUESTED; PAUSE_REQUESTED to PAUSED.';
  END IF;

  IF NEW.status = 'RUN_REQUESTED' THEN
    NEW.requested_at := clock_timestamp();
    NEW.current_run_id := coalesce((SELECT m.planned_run FROM etl.etl_due m
                                     WHERE m.pipeline_id = NEW.id AND m.run_id IS NULL
                                       AND m.planned_run = nullif(current_setting('vitrina.run_id', true), '')::uuid), gen_random_uuid());
    INSERT INTO etl.etl_runs AS r (id, pipeline_id, config_version, trigger, traceparent)
    VALUES (NEW.current_run_id, NEW.id, NEW.config_version,
            coalesce(nullif(current_setting('vitrina.trigger', true), ''), 'sql'),
            nullif(current_setting('vitrina.traceparent', true), ''))
    ON CONFLICT (id) DO UPDATE SET config_version = excluded.config_version WHERE r.pipeline_id = NEW.id AND r.status = 'REQUESTED';
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

CREATE FUNCTION etl.plan_wave(pipeline uuid, direction text) RETURNS TABLE (pipeline_id uuid, run_id uuid, is_new boolean)
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
    ), chosen AS MATERIALIZED (
      SELECT up.id FROM up UNION SELECT down.id FROM down
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
COMMENT ON FUNCTION etl.plan_wave(uuid, text) IS
  'Plans a run of a pipeline and of its ancestors (upstream), its descendants (downstream) or both (all). Each begins after those it follows.';

ALTER TABLE etl.etl_idempotency ADD COLUMN runs uuid[];
COMMENT ON COLUMN etl.etl_idempotency.runs IS 'The runs that were requested together with run_id. NULL: that run alone.';

CREATE FUNCTION etl.require_no_cycle(pipeline uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  path text := etl.cycle_of(pipeline);
BEGIN
  IF path IS NOT NULL THEN
    RAISE EXCEPTION 'the pipelines would follow each other in a circle: %', path
      USING ERRCODE = 'VT006', HINT = 'Read another table, or set after to none on one of these pipelines.';
  END IF;
END $$;

CREATE FUNCTION etl.cycle_of(pipeline uuid) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  seen uuid[] := ARRAY[pipeline];
  -- The place in "seen" that each was reached from.
  reached_from integer[] := ARRAY[0];
  names text;
  at integer := 0;
  follower uuid;
BEGIN
  -- Two changes that together close a cycle come one after the other.
  PERFORM pg_advisory_xact_lock(1986622066, 3);
  IF pipeline NOT IN (
    WITH RECURSIVE below (id) AS (
      SELECT e.downstream_id FROM etl.pipeline_edges e WHERE e.upstream_id = pipeline
      UNION SELECT e.downstream_id FROM below b JOIN etl.pipeline_edges e ON e.upstream_id = b.id
    ) SELECT b.id FROM below b) THEN
    RETURN NULL;
  END IF;
  -- Breadth first, for the shortest path: enumerating all of them would take exponential time.
  LOOP
    at := at + 1;
    FOR follower IN SELECT p.id FROM etl.etl_pipelines p
                     WHERE p.id IN (SELECT e.downstream_id FROM etl.pipeline_edges e WHERE e.upstream_id = seen[at]) ORDER BY p.name
    LOOP
      IF follower = pipeline THEN
        names := (SELECT p.name FROM etl.etl_pipelines p WHERE p.id = pipeline);
        WHILE at > 0 LOOP
          names := (SELECT p.name FROM etl.etl_pipelines p WHERE p.id = seen[at]) || ' → ' || names;
          at := reached_from[at];
        END LOOP;
        RETURN names;
      END IF;
      IF follower <> ALL (seen) THEN
        seen := seen || follower;
        reached_from := reached_from || at;
      END IF;
    END LOOP;
  END LOOP;
END $$;
COMMENT ON FUNCTION etl.cycle_of(uuid) IS 'The names along a cycle through this pipeline. NULL: there is none.';

CREATE FUNCTION etl.note_reads(pipeline uuid, connections text[], schemas text[], tables text[], strict boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  found_now text[] := ARRAY(SELECT DISTINCT coalesce(lower(connection), '') || '|' || quote_ident(relation.schema) || '.' || quote_ident(relation.name)
                              FROM unnest(connections) AS connection, unnest(schemas, tables) AS relation (schema, name) ORDER BY 1);
  one text;
BEGIN
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
COMMENT ON FUNCTION etl.note_reads(uuid, text[], text[], text[], boolean) IS
  'Stores the tables that a pipeline reads, under each of these names of their database. strict: a cycle is an error.';

-- For every writer: a name in "after", a target that another pipeline reads, a new pipeline under an old name.
CREATE FUNCTION etl.refuse_cycle() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  pipeline uuid := CASE TG_TABLE_NAME WHEN 'etl_pipelines' THEN (to_jsonb(NEW) ->> 'id')::uuid ELSE (to_jsonb(NEW) ->> 'pipeline_id')::uuid END;
BEGIN
  PERFORM etl.refresh_edges(pipeline);
  PERFORM etl.require_no_cycle(pipeline);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER refuse_cycle AFTER UPDATE ON etl.etl_pipelines DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.after IS DISTINCT FROM NEW.after) EXECUTE FUNCTION etl.refuse_cycle();
CREATE CONSTRAINT TRIGGER refuse_cycle AFTER INSERT OR UPDATE ON etl.etl_pipeline_targets DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION etl.refuse_cycle();

REVOKE EXECUTE ON FUNCTION etl.mark_followers(uuid, timestamptz), etl.release_marks(uuid), etl.request_due_runs(), etl.plan_wave(uuid, text),
  etl.note_reads(uuid, text[], text[], text[], boolean), etl.refresh_edges(uuid), etl.require_no_cycle(uuid), etl.cycle_of(uuid) FROM PUBLIC;
