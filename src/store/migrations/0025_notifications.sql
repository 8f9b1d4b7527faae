-- Failures were visible only to a user who happened to look at the console. Rules now name the events, the pipelines and
-- the channel. The triggers below write one row per matching rule into the outbox, in the transaction of the event: a
-- notification exists if and only if the event was committed. The API groups these rows into messages and delivers them.
-- Channels and their secrets are deployment settings; only their names are stored.
-- Compatible: older runners fire the triggers without knowing them; an older API leaves the rows for a newer one.

CREATE TABLE etl.etl_notification_rules (
  id                uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name              text NOT NULL CONSTRAINT etl_notification_rules_name_key UNIQUE,
  enabled           boolean NOT NULL DEFAULT true,
  events            text[] NOT NULL CONSTRAINT etl_notification_rules_events_check CHECK (cardinality(events) > 0),
  pipelines         text[] NOT NULL DEFAULT '{}',
  channel           text NOT NULL,
  quiet_from        text,
  quiet_to          text,
  quiet_timezone    text NOT NULL DEFAULT 'UTC',
  group_seconds     integer NOT NULL DEFAULT 10,
  repeat_seconds    integer NOT NULL DEFAULT 600,
  max_per_hour      integer NOT NULL DEFAULT 20,
  held_back_seconds integer NOT NULL DEFAULT 900,
  created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT etl_notification_rules_quiet_check CHECK ((quiet_from IS NULL) = (quiet_to IS NULL))
);
COMMENT ON COLUMN etl.etl_notification_rules.pipelines IS 'Names; * matches any characters. Empty: all pipelines.';

CREATE TABLE etl.etl_notification_messages (
  id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  rule_id         uuid NOT NULL,
  rule_name       text NOT NULL,
  channel         text NOT NULL,
  event           text NOT NULL,
  group_key       text NOT NULL DEFAULT '',
  status          text NOT NULL DEFAULT 'PENDING'
    CONSTRAINT etl_notification_messages_status_check CHECK (status IN ('PENDING', 'SENT', 'DEAD', 'DISCARDED')),
  attempts        integer NOT NULL DEFAULT 0,
  created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  next_attempt_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  lease_until     timestamptz,
  attempted_at    timestamptz,
  settled_at      timestamptz,
  last_error      text CONSTRAINT etl_notification_messages_error_check CHECK (length(last_error) <= 4000)
);
CREATE INDEX etl_notification_messages_due ON etl.etl_notification_messages (next_attempt_at) WHERE status = 'PENDING';
CREATE INDEX etl_notification_messages_by_status ON etl.etl_notification_messages (status, created_at);
CREATE INDEX etl_notification_messages_by_rule ON etl.etl_notification_messages (rule_id, created_at);
CREATE INDEX etl_notification_messages_by_channel ON etl.etl_notification_messages (channel, attempted_at);

-- Without foreign keys: a rule that is deleted at this moment must not fail the run that writes here.
CREATE TABLE etl.etl_outbox (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at            timestamptz NOT NULL DEFAULT clock_timestamp(),
  rule_id       uuid NOT NULL,
  event         text NOT NULL,
  group_key     text NOT NULL DEFAULT '',
  pipeline_id   uuid NOT NULL,
  pipeline_name text NOT NULL,
  run_id        uuid,
  data          jsonb NOT NULL DEFAULT '{}',
  message_id    uuid,
  dropped       boolean NOT NULL DEFAULT false
);
COMMENT ON COLUMN etl.etl_outbox.message_id IS 'The message that contains the event. NULL: not grouped yet, or dropped.';
CREATE INDEX etl_outbox_waiting ON etl.etl_outbox (id) WHERE message_id IS NULL AND NOT dropped;
CREATE INDEX etl_outbox_by_message ON etl.etl_outbox (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX etl_outbox_by_pipeline ON etl.etl_outbox (rule_id, pipeline_id, id);
CREATE UNIQUE INDEX etl_outbox_quarantine_once ON etl.etl_outbox (rule_id, run_id)
  WHERE event = 'quarantine_grew' AND message_id IS NULL AND NOT dropped;

CREATE FUNCTION etl.names_pipeline(patterns text[], pipeline text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT cardinality(patterns) = 0 OR EXISTS (
    SELECT FROM unnest(patterns) AS pattern
     WHERE pipeline LIKE replace(replace(replace(replace(pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'))
$$;

-- The rules that want one of these events of a pipeline. An event may have a general name too (a brake is a failure):
-- a rule gets it once, under the first name that it lists.
CREATE FUNCTION etl.rules_for(event_names text[], pipeline uuid)
RETURNS TABLE (rule_id uuid, event text, pipeline_name text, held_back_seconds integer)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT r.id, wanted.event, p.name, r.held_back_seconds
    FROM etl.etl_pipelines p
    JOIN etl.etl_notification_rules r ON r.enabled AND r.events && event_names AND etl.names_pipeline(r.pipelines, p.name)
   CROSS JOIN LATERAL (SELECT e.event FROM unnest(event_names) WITH ORDINALITY AS e(event, place)
                        WHERE e.event = ANY (r.events) ORDER BY e.place LIMIT 1) AS wanted
   WHERE p.id = pipeline
$$;

CREATE FUNCTION etl.notify(event_names text[], pipeline uuid, run uuid, event_key text, facts jsonb) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO etl.etl_outbox (rule_id, event, group_key, pipeline_id, pipeline_name, run_id, data)
  SELECT w.rule_id, w.event, event_key, pipeline, w.pipeline_name, run, facts FROM etl.rules_for(event_names, pipeline) w
$$;
-- Only the triggers of this schema: a login that may write runs must not invent events.
REVOKE EXECUTE ON FUNCTION etl.notify(text[], uuid, uuid, text, jsonb) FROM PUBLIC;

CREATE FUNCTION etl.notify_of_run() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.status = 'FAILED' THEN
    -- VTR-4102: the number of BRAKE.
    PERFORM etl.notify(CASE WHEN NEW.error_code = 'VTR-4102' THEN ARRAY['brake', 'failed'] ELSE ARRAY['failed'] END,
      NEW.pipeline_id, NEW.id, coalesce(NEW.error_code, ''), jsonb_build_object(
        'code', NEW.error_code, 'error', NEW.error, 'hint', NEW.error_hint, 'attempt', NEW.attempt, 'trigger', NEW.trigger));
  ELSE
    -- Once after each failure: the last of these events decides.
    INSERT INTO etl.etl_outbox (rule_id, event, pipeline_id, pipeline_name, run_id, data)
    SELECT w.rule_id, w.event, NEW.pipeline_id, w.pipeline_name, NEW.id, jsonb_build_object('rows_written', NEW.rows_written)
      FROM etl.rules_for(ARRAY['recovered'], NEW.pipeline_id) w
     WHERE (SELECT o.event FROM etl.etl_outbox o
             WHERE o.rule_id = w.rule_id AND o.pipeline_id = NEW.pipeline_id AND o.event IN ('failed', 'brake', 'recovered')
             ORDER BY o.id DESC LIMIT 1) IN ('failed', 'brake');
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER notify_of_run AFTER UPDATE OF status ON etl.etl_runs
  FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status AND NEW.status IN ('FAILED', 'SUCCESS'))
  EXECUTE FUNCTION etl.notify_of_run();

-- Once for each transaction that holds a checkpoint back, which its start identifies.
CREATE FUNCTION etl.notify_of_held_back() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO etl.etl_outbox (rule_id, event, pipeline_id, pipeline_name, run_id, data)
  SELECT w.rule_id, w.event, NEW.pipeline_id, w.pipeline_name, NEW.id, NEW.held_back
    FROM etl.rules_for(ARRAY['held_back'], NEW.pipeline_id) w
   WHERE (NEW.held_back ->> 'since')::timestamptz < clock_timestamp() - make_interval(secs => w.held_back_seconds)
     AND NOT EXISTS (SELECT FROM etl.etl_outbox o
                      WHERE o.rule_id = w.rule_id AND o.pipeline_id = NEW.pipeline_id AND o.event = 'held_back'
                        AND o.data ->> 'since' = NEW.held_back ->> 'since');
  RETURN NULL;
END $$;
CREATE TRIGGER notify_of_held_back AFTER UPDATE OF held_back ON etl.etl_runs
  FOR EACH ROW WHEN (NEW.held_back ->> 'since' IS NOT NULL)
  EXECUTE FUNCTION etl.notify_of_held_back();

CREATE FUNCTION etl.notify_of_drift() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM etl.notify(ARRAY['drift_found'], NEW.pipeline_id, NULL, '', jsonb_build_object(
    'missing', NEW.missing, 'extra', NEW.extra, 'different', NEW.different));
  RETURN NULL;
END $$;
CREATE TRIGGER notify_of_drift AFTER INSERT OR UPDATE ON etl.etl_comparisons
  FOR EACH ROW WHEN (NEW.deep AND NEW.missing + NEW.extra + NEW.different > 0)
  EXECUTE FUNCTION etl.notify_of_drift();

-- Rows that are new in the quarantine; a row that is refused again is updated and does not count. The batches of a run
-- add to one event until it is grouped.
CREATE FUNCTION etl.notify_of_quarantine() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO etl.etl_outbox AS o (rule_id, event, pipeline_id, pipeline_name, run_id, data)
  SELECT w.rule_id, w.event, grown.pipeline_id, w.pipeline_name, grown.run_id,
         jsonb_build_object('rows', grown.rows, 'reason', grown.reason)
    FROM (SELECT pipeline_id, run_id, count(*) AS rows, (array_agg(reason ORDER BY id))[1] AS reason
            FROM added GROUP BY pipeline_id, run_id) AS grown
   CROSS JOIN LATERAL etl.rules_for(ARRAY['quarantine_grew'], grown.pipeline_id) AS w
  ON CONFLICT (rule_id, run_id) WHERE event = 'quarantine_grew' AND message_id IS NULL AND NOT dropped
  DO UPDATE SET data = o.data || jsonb_build_object('rows', (o.data ->> 'rows')::bigint + (excluded.data ->> 'rows')::bigint);
  RETURN NULL;
END $$;
CREATE TRIGGER notify_of_quarantine AFTER INSERT ON etl.etl_quarantine REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION etl.notify_of_quarantine();

-- Marts in the main database only: the position of others is stored beside them.
CREATE FUNCTION etl.notify_of_audit() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM etl.notify(ARRAY['audit_failed'], NEW.pipeline_id,
    (SELECT current_run_id FROM etl.etl_pipelines WHERE id = NEW.pipeline_id), '', NEW.position #> '{audit,failed}');
  RETURN NULL;
END $$;
CREATE TRIGGER notify_of_audit AFTER UPDATE ON etl.etl_state
  FOR EACH ROW WHEN (NEW.position #> '{audit,failed}' IS NOT NULL
                     AND NEW.position #> '{audit,failed}' IS DISTINCT FROM OLD.position #> '{audit,failed}')
  EXECUTE FUNCTION etl.notify_of_audit();
