-- What a pipeline reads was known only after the API had saved it, or had been started since, or after its first run. A
-- mart of marts that was inserted with SQL was due at once, before the marts that it reads: its first run failed for want
-- of a table, and for good. What is known is recorded: the API looks for the rest every two seconds, and before the first
-- run for its freshness a runner reads the names of the tables from the text of the query.
-- Compatible: an older runner requests these runs without looking; an older API looks only when it starts.

CREATE TABLE etl.etl_known_reads (
  pipeline_id uuid PRIMARY KEY REFERENCES etl.etl_pipelines ON DELETE CASCADE
);
COMMENT ON TABLE etl.etl_known_reads IS
  'Pipelines whose tables in etl_pipeline_reads are those of their query. The others were inserted or changed with SQL: an API finds their tables.';
INSERT INTO etl.etl_known_reads (pipeline_id) SELECT DISTINCT r.pipeline_id FROM etl.etl_pipeline_reads r;

CREATE FUNCTION etl.forget_reads() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  IF TG_TABLE_NAME = 'etl_pipelines' THEN
    DELETE FROM etl.etl_known_reads k WHERE k.pipeline_id = NEW.id;
  ELSE
    DELETE FROM etl.etl_known_reads k WHERE k.pipeline_id = CASE TG_OP WHEN 'DELETE' THEN OLD.pipeline_id ELSE NEW.pipeline_id END;
  END IF;
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
  INSERT INTO etl.etl_known_reads (pipeline_id)
  SELECT p.id FROM etl.etl_pipelines p WHERE p.id = pipeline AND p.config_version = version FOR SHARE
  ON CONFLICT DO NOTHING
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
    INSERT INTO etl.etl_known_reads (pipeline_id) SELECT p.id FROM etl.etl_pipelines p WHERE p.id = pipeline ON CONFLICT DO NOTHING;
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
CREATE OR REPLACE FUNCTION etl.notify(event_names text[], pipeline uuid, run uuid, event_key text, facts jsonb)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  INSERT INTO etl.etl_outbox (rule_id, event, group_key, pipeline_id, pipeline_name, run_id, data)
  SELECT w.rule_id, w.event, event_key, pipeline, w.pipeline_name, run, facts FROM etl.rules_for(event_names, pipeline) w
$$;

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
CREATE OR REPLACE FUNCTION etl.date_run()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
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
CREATE OR REPLACE FUNCTION etl.drop_marks()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
BEGIN
  DELETE FROM etl.etl_due WHERE pipeline_id = OLD.id;
  DELETE FROM etl.etl_pipeline_edges WHERE upstream_id = OLD.id OR downstream_id = OLD.id;
  RETURN NULL;
END $$;
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
              ELSE greatest(f.read_at + make_interval(secs => greatest(f.needed_seconds - etl.lead_seconds(f.usual_seconds), 0)), f.not_before) END
$$;
