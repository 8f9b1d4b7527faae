-- Three additions. The profile of a mart is stored with its time, so that the console shows it without computing it
-- again. Notification rules select pipelines by tag too, and a live pipeline, whose run lasts minutes, is reported as
-- recovered at its first live batch. Runs are reported to an OpenLineage receiver through the outbox.
-- Compatible: older runners fire the triggers without knowing them; an older API ignores the new columns. Update all
-- APIs before setting OPENLINEAGE_URL: an older one does not know the channel and would give up its messages.

CREATE TABLE etl.etl_profiles (
  pipeline_id    uuid PRIMARY KEY REFERENCES etl.etl_pipelines (id) ON DELETE CASCADE,
  at             timestamptz NOT NULL DEFAULT clock_timestamp(),
  duration_ms    double precision NOT NULL,
  config_version integer NOT NULL,
  target         text NOT NULL,
  profile        jsonb NOT NULL
);
COMMENT ON TABLE etl.etl_profiles IS 'The last profile of each mart: counts, ranges and sample values of its columns.';

ALTER TABLE etl.etl_notification_rules ADD COLUMN tags text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN etl.etl_notification_rules.pipelines IS 'Names; * matches any characters. Without names and tags: all pipelines.';
COMMENT ON COLUMN etl.etl_notification_rules.tags IS 'Pipelines with one of these tags, in addition to those that are named.';

CREATE OR REPLACE FUNCTION etl.rules_for(event_names text[], pipeline uuid)
RETURNS TABLE (rule_id uuid, event text, pipeline_name text, held_back_seconds integer)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT r.id, wanted.event, p.name, r.held_back_seconds
    FROM etl.etl_pipelines p
    JOIN etl.etl_notification_rules r ON r.enabled AND r.events && event_names
     AND (r.tags && p.tags
          OR (cardinality(r.tags) = 0 OR cardinality(r.pipelines) > 0) AND etl.names_pipeline(r.pipelines, p.name))
   CROSS JOIN LATERAL (SELECT e.event FROM unnest(event_names) WITH ORDINALITY AS e(event, place)
                        WHERE e.event = ANY (r.events) ORDER BY e.place LIMIT 1) AS wanted
   WHERE p.id = pipeline
$$;

-- Once after each failure: the last of these events decides.
CREATE FUNCTION etl.notify_recovered(pipeline uuid, run uuid, facts jsonb) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO etl.etl_outbox (rule_id, event, pipeline_id, pipeline_name, run_id, data)
  SELECT w.rule_id, w.event, pipeline, w.pipeline_name, run, facts
    FROM etl.rules_for(ARRAY['recovered'], pipeline) w
   WHERE (SELECT o.event FROM etl.etl_outbox o
           WHERE o.rule_id = w.rule_id AND o.pipeline_id = pipeline AND o.event IN ('failed', 'brake', 'recovered')
           ORDER BY o.id DESC LIMIT 1) IN ('failed', 'brake')
$$;
REVOKE EXECUTE ON FUNCTION etl.notify_recovered(uuid, uuid, jsonb) FROM PUBLIC;

-- A live run has caught up with the source when it writes its first live batch; it ends minutes later.
CREATE FUNCTION etl.notify_of_live_batch() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM etl.notify_recovered(r.pipeline_id, r.id, jsonb_build_object('rows_written', r.rows_written))
     FROM etl.etl_runs r WHERE r.id = NEW.run_id AND r.status = 'RUNNING';
  RETURN NULL;
END $$;
CREATE TRIGGER notify_of_live_batch AFTER INSERT ON etl.etl_run_batches
  FOR EACH ROW WHEN (NEW.step = 'live')
  EXECUTE FUNCTION etl.notify_of_live_batch();

ALTER TABLE etl.etl_runs
  ADD COLUMN openlineage_parent text CONSTRAINT etl_runs_openlineage_parent_check CHECK (length(openlineage_parent) <= 1000);
COMMENT ON COLUMN etl.etl_runs.openlineage_parent IS 'The run of an orchestrator that requested this one: namespace/job/run id.';

-- The address is a setting of the API, which the triggers cannot see: the API stores whether there is one.
CREATE TABLE etl.etl_openlineage (
  is_only boolean PRIMARY KEY DEFAULT true CONSTRAINT etl_openlineage_only_check CHECK (is_only),
  enabled boolean NOT NULL
);

ALTER TABLE etl.etl_notification_messages
  ADD COLUMN order_key uuid,
  ADD COLUMN order_no  integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN etl.etl_notification_messages.order_key IS
  'Messages with the same key are delivered one after another, by order_no. NULL: in any order.';
CREATE INDEX etl_notification_messages_in_order ON etl.etl_notification_messages (order_key, order_no)
  WHERE status = 'PENDING' AND order_key IS NOT NULL;

-- START when a run is claimed for the first time, then one event for its end. A paused run has ended: it continues as
-- another run.
CREATE FUNCTION etl.notify_openlineage() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  kind text := CASE NEW.status WHEN 'RUNNING' THEN 'START' WHEN 'SUCCESS' THEN 'COMPLETE' WHEN 'FAILED' THEN 'FAIL' ELSE 'ABORT' END;
BEGIN
  -- Claimed again after its runner died, or cancelled before any runner took it.
  IF TG_OP = 'UPDATE' AND kind = 'START' AND OLD.started_at IS NOT NULL OR NEW.started_at IS NULL THEN RETURN NULL; END IF;
  IF NOT EXISTS (SELECT FROM etl.etl_openlineage o WHERE o.enabled) THEN RETURN NULL; END IF;
  WITH made AS (
    INSERT INTO etl.etl_notification_messages (rule_id, rule_name, channel, event, order_key, order_no)
    VALUES ('00000000-0000-0000-0000-000000000000', 'OpenLineage', 'openlineage', kind, NEW.id, CASE kind WHEN 'START' THEN 1 ELSE 2 END)
    RETURNING id)
  INSERT INTO etl.etl_outbox (rule_id, event, pipeline_id, pipeline_name, run_id, message_id, data)
  SELECT '00000000-0000-0000-0000-000000000000', kind, p.id, p.name, NEW.id, made.id, jsonb_build_object(
           'started_at', etl.rfc3339(NEW.started_at), 'rows_read', NEW.rows_read, 'rows_written', NEW.rows_written,
           'rows_deleted', NEW.rows_deleted, 'config_version', NEW.config_version, 'trigger', NEW.trigger,
           'parent', NEW.openlineage_parent, 'code', NEW.error_code, 'error', NEW.error)
    FROM made, etl.etl_pipelines p WHERE p.id = NEW.pipeline_id;
  RETURN NULL;
END $$;
CREATE TRIGGER notify_openlineage_of_new AFTER INSERT ON etl.etl_runs
  FOR EACH ROW WHEN (NEW.status = 'RUNNING') EXECUTE FUNCTION etl.notify_openlineage();
CREATE TRIGGER notify_openlineage AFTER UPDATE OF status ON etl.etl_runs
  FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status AND NEW.status <> 'REQUESTED')
  EXECUTE FUNCTION etl.notify_openlineage();
