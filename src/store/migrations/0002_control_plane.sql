-- What the control plane adds: numbered versions of every configuration, an audit that cannot be rewritten, tokens with
-- roles, requests that may be repeated, and a journal of events that every runner and every hand-written UPDATE feeds.
-- Compatible: older runners ignore all of it. They do not honour etl_state.reset, so stop them before resetting a
-- pipeline whose target is another database.

-- True: somebody set this row by hand, and the checkpoint in the target database has to follow at the next claim.
ALTER TABLE etl.etl_state ADD COLUMN reset boolean NOT NULL DEFAULT false;

ALTER TABLE etl.etl_runs ADD COLUMN external_ref text;
COMMENT ON COLUMN etl.etl_runs.external_ref IS 'How an orchestrator calls this run: it finds it again after a lost answer.';
CREATE INDEX etl_runs_by_status ON etl.etl_runs (status, requested_at DESC, id DESC);

ALTER TABLE etl.etl_quarantine DROP CONSTRAINT etl_quarantine_status_check;
ALTER TABLE etl.etl_quarantine ADD CONSTRAINT etl_quarantine_status_check
  CHECK (status IN ('HELD', 'REPLAY_REQUESTED', 'REPLAYED', 'DISCARDED'));
CREATE INDEX etl_quarantine_by_pipeline ON etl.etl_quarantine (pipeline_id, id DESC);

-- One transaction makes one version, however many rows of pipeline and tasks it touches.
ALTER TABLE etl.etl_pipelines ADD COLUMN config_xact xid8 DEFAULT pg_current_xact_id();
UPDATE etl.etl_pipelines SET config_xact = NULL;
COMMENT ON COLUMN etl.etl_pipelines.config_xact IS 'The transaction that made the present config_version.';

CREATE TABLE etl.etl_pipeline_versions (
  pipeline_id uuid NOT NULL REFERENCES etl.etl_pipelines ON DELETE CASCADE,
  version     integer NOT NULL,
  author      text NOT NULL,
  at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The whole configuration, tasks included, in the words of the API.
  spec        jsonb NOT NULL,
  -- {field: {old, new}} against the version before.
  diff        jsonb NOT NULL,
  PRIMARY KEY (pipeline_id, version)
);

-- No foreign keys: what was deleted stays in the audit.
CREATE TABLE etl.etl_audit (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  actor       text NOT NULL,
  action      text NOT NULL,
  target_kind text NOT NULL,
  target_id   text NOT NULL,
  target_name text,
  diff        jsonb NOT NULL DEFAULT '{}',
  request_id  text
);

CREATE TABLE etl.etl_tokens (
  id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name         text NOT NULL CHECK (name <> ''),
  role         text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  -- SHA-256 of a random value with 256 bits: nothing that could be guessed, so nothing slower is needed.
  hash         bytea NOT NULL UNIQUE,
  created_by   text NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at   timestamptz,
  revoked_at   timestamptz,
  last_used_at timestamptz
);

-- A request that may be repeated, and what it was answered with. Inserted in the transaction that does the work: of
-- fifty equal requests one inserts, the others wait for it here.
CREATE TABLE etl.etl_idempotency (
  actor       text NOT NULL,
  key         text NOT NULL,
  fingerprint text NOT NULL,
  run_id      uuid,
  at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (actor, key)
);
CREATE INDEX etl_idempotency_by_time ON etl.etl_idempotency (at);

-- n tells the order of writing. seq is given by the API once the row is committed, in one place at a time: a number
-- that was given is followed by no smaller one, so "everything after seq" has neither gap nor repetition.
-- (Numbers taken while writing would be seen out of order: a long batch takes its number early and commits late. Holding
-- everything back until the oldest transaction has ended would silence the journal for as long as that takes.)
CREATE TABLE etl.etl_events (
  n           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  seq         bigint UNIQUE,
  at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  kind        text NOT NULL,
  pipeline_id uuid,
  run_id      uuid,
  data        jsonb NOT NULL
);
CREATE INDEX etl_events_fresh ON etl.etl_events (n) WHERE seq IS NULL;
CREATE INDEX etl_events_by_time ON etl.etl_events (at);

-- Who does this: the API says so for each transaction; a person at psql is called by the login.
CREATE FUNCTION etl.actor() RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT coalesce(nullif(current_setting('vitrina.actor', true), ''), 'sql:' || session_user)
$$;

CREATE FUNCTION etl.refuse_rewriting() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit is append-only' USING ERRCODE = 'VT003', HINT = 'Nobody rewrites the audit.';
END $$;
CREATE TRIGGER refuse_rewriting BEFORE UPDATE OR DELETE OR TRUNCATE ON etl.etl_audit
  FOR EACH STATEMENT EXECUTE FUNCTION etl.refuse_rewriting();

-- Everything of a pipeline that is configuration, in the words of the API; a column that a later migration adds is in it.
CREATE FUNCTION etl.pipeline_spec(p etl.etl_pipelines) RETURNS jsonb
LANGUAGE sql STABLE AS $$
  SELECT to_jsonb(p) - ARRAY['id', 'status', 'config_version', 'config_xact', 'fence', 'lease_owner', 'lease_until',
                             'requested_at', 'current_run_id', 'next_run_at', 'created_at', 'updated_at']
      || jsonb_build_object('batch_size', coalesce(to_jsonb(p.batch_size), '"auto"'),
           'tasks', (SELECT coalesce(jsonb_agg(to_jsonb(t) - ARRAY['id', 'pipeline_id'] ORDER BY t.order_index), '[]')
                       FROM etl.etl_pipeline_tasks t WHERE t.pipeline_id = p.id))
$$;

CREATE FUNCTION etl.field_diff(old_spec jsonb, new_spec jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(jsonb_object_agg(key, jsonb_build_object('old', o.value, 'new', n.value)), '{}')
    FROM jsonb_each(old_spec) o FULL JOIN jsonb_each(new_spec) n USING (key)
   WHERE o.value IS DISTINCT FROM n.value
$$;

-- As before, but a second change in the same transaction belongs to the same version.
CREATE OR REPLACE FUNCTION etl.version_pipeline() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF OLD.status IN ('RUNNING', 'PAUSE_REQUESTED') AND
     ROW(OLD.source_query, OLD.source_connection, OLD.target_table, OLD.target_connection, OLD.mode, OLD.full_strategy,
         OLD.incremental_key, OLD.incremental_id_key, OLD.capture, OLD.deletes, OLD.key_columns, OLD.type, OLD.source_type)
     IS DISTINCT FROM
     ROW(NEW.source_query, NEW.source_connection, NEW.target_table, NEW.target_connection, NEW.mode, NEW.full_strategy,
         NEW.incremental_key, NEW.incremental_id_key, NEW.capture, NEW.deletes, NEW.key_columns, NEW.type, NEW.source_type)
  THEN
    RAISE EXCEPTION 'pipeline "%" is %: its query, target, mode and keys cannot change now', OLD.name, OLD.status
      USING ERRCODE = 'VT002', HINT = 'Pause it or wait until it is IDLE, then change it.';
  END IF;
  IF NEW.schedule_interval IS DISTINCT FROM OLD.schedule_interval
     OR NEW.schedule_timezone IS DISTINCT FROM OLD.schedule_timezone THEN
    NEW.next_run_at := NULL;
  END IF;
  IF OLD.config_xact IS DISTINCT FROM pg_current_xact_id() THEN
    NEW.config_version := OLD.config_version + 1;
    NEW.config_xact := pg_current_xact_id();
  END IF;
  NEW.updated_at := clock_timestamp();
  RETURN NEW;
END $$;

-- Tasks are part of the configuration: the same protection while a run is under way, the same versions.
CREATE FUNCTION etl.change_tasks() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  pipeline etl.etl_pipelines;
BEGIN
  UPDATE etl.etl_pipelines
     SET config_version = config_version + CASE WHEN config_xact IS DISTINCT FROM pg_current_xact_id() THEN 1 ELSE 0 END,
         config_xact = pg_current_xact_id(), updated_at = clock_timestamp()
   WHERE id = CASE TG_OP WHEN 'DELETE' THEN OLD.pipeline_id ELSE NEW.pipeline_id END
  RETURNING * INTO pipeline;
  IF pipeline.status IN ('RUNNING', 'PAUSE_REQUESTED') THEN
    RAISE EXCEPTION 'pipeline "%" is %: its tasks cannot change now', pipeline.name, pipeline.status
      USING ERRCODE = 'VT002', HINT = 'Pause it or wait until it is IDLE, then change it.';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER change_tasks AFTER INSERT OR UPDATE OR DELETE ON etl.etl_pipeline_tasks
  FOR EACH ROW EXECUTE FUNCTION etl.change_tasks();

-- At the end of the transaction, when pipeline and tasks are as they will stay: one version and one line of the audit.
CREATE FUNCTION etl.keep_version() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  pipeline etl.etl_pipelines;
  changes  jsonb;
BEGIN
  SELECT * INTO pipeline FROM etl.etl_pipelines WHERE id = NEW.id;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  SELECT etl.field_diff(spec, etl.pipeline_spec(pipeline)) INTO changes FROM etl.etl_pipeline_versions
   WHERE pipeline_id = pipeline.id AND version < pipeline.config_version ORDER BY version DESC LIMIT 1;
  changes := coalesce(changes, etl.field_diff('{}', etl.pipeline_spec(pipeline)));
  INSERT INTO etl.etl_pipeline_versions (pipeline_id, version, author, spec, diff)
  VALUES (pipeline.id, pipeline.config_version, etl.actor(), etl.pipeline_spec(pipeline), changes)
  ON CONFLICT DO NOTHING;
  IF FOUND THEN
    INSERT INTO etl.etl_audit (actor, action, target_kind, target_id, target_name, diff, request_id)
    VALUES (etl.actor(),
            coalesce(nullif(current_setting('vitrina.action', true), ''),
                     CASE pipeline.config_version WHEN 1 THEN 'pipeline.create' ELSE 'pipeline.change' END),
            'pipeline', pipeline.id, pipeline.name, changes, nullif(current_setting('vitrina.request_id', true), ''));
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER keep_first_version AFTER INSERT ON etl.etl_pipelines
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION etl.keep_version();
CREATE CONSTRAINT TRIGGER keep_version AFTER UPDATE ON etl.etl_pipelines
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.config_version IS DISTINCT FROM NEW.config_version) EXECUTE FUNCTION etl.keep_version();

CREATE FUNCTION etl.leave_pipeline() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF OLD.status IN ('RUNNING', 'PAUSE_REQUESTED') THEN
    RAISE EXCEPTION 'pipeline "%" is %: it cannot be deleted now', OLD.name, OLD.status
      USING ERRCODE = 'VT002', HINT = 'Cancel its run or pause it, then delete it.';
  END IF;
  INSERT INTO etl.etl_audit (actor, action, target_kind, target_id, target_name, diff, request_id)
  VALUES (etl.actor(), 'pipeline.delete', 'pipeline', OLD.id, OLD.name, etl.field_diff(etl.pipeline_spec(OLD), '{}'),
          nullif(current_setting('vitrina.request_id', true), ''));
  RETURN OLD;
END $$;
CREATE TRIGGER leave_pipeline BEFORE DELETE ON etl.etl_pipelines
  FOR EACH ROW EXECUTE FUNCTION etl.leave_pipeline();

INSERT INTO etl.etl_pipeline_versions (pipeline_id, version, author, spec, diff)
SELECT p.id, p.config_version, 'migration', etl.pipeline_spec(p), '{}' FROM etl.etl_pipelines p;

CREATE FUNCTION etl.emit(event_kind text, pipeline uuid, run uuid, facts jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO etl.etl_events (kind, pipeline_id, run_id, data) VALUES (event_kind, pipeline, run, facts);
  -- No payload: however many events a transaction has, it wakes the API once.
  PERFORM pg_notify('vitrina_events', '');
END $$;
REVOKE EXECUTE ON FUNCTION etl.emit(text, uuid, uuid, jsonb) FROM PUBLIC;

CREATE FUNCTION etl.tell_of_pipeline() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM etl.emit('pipeline.created', NEW.id, NULL, jsonb_build_object('name', NEW.name));
  ELSIF TG_OP = 'DELETE' THEN
    PERFORM etl.emit('pipeline.deleted', OLD.id, NULL, jsonb_build_object('name', OLD.name));
  ELSIF OLD.status <> NEW.status THEN
    PERFORM etl.emit('pipeline.status', NEW.id, NEW.current_run_id,
                     jsonb_build_object('name', NEW.name, 'from', OLD.status, 'to', NEW.status));
  ELSE
    PERFORM etl.emit('pipeline.changed', NEW.id, NULL,
                     jsonb_build_object('name', NEW.name, 'enabled', NEW.enabled, 'config_version', NEW.config_version));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER tell_of_pipeline AFTER INSERT OR DELETE ON etl.etl_pipelines
  FOR EACH ROW EXECUTE FUNCTION etl.tell_of_pipeline();
-- Renewing a lease is an UPDATE too, every few seconds; it is no news.
CREATE TRIGGER tell_of_change AFTER UPDATE ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.status <> NEW.status OR OLD.config_version <> NEW.config_version)
  EXECUTE FUNCTION etl.tell_of_pipeline();

CREATE FUNCTION etl.tell_of_run() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM etl.emit('run.status', NEW.pipeline_id, NEW.id, jsonb_build_object(
    'status', NEW.status, 'attempt', NEW.attempt, 'cancel_requested', NEW.cancel_requested, 'runner_id', NEW.runner_id,
    'batches', NEW.batches, 'rows_read', NEW.rows_read, 'rows_written', NEW.rows_written, 'rows_deleted', NEW.rows_deleted,
    'held_back', NEW.held_back, 'error', NEW.error, 'error_code', NEW.error_code));
  RETURN NULL;
END $$;
CREATE TRIGGER tell_of_new_run AFTER INSERT ON etl.etl_runs FOR EACH ROW EXECUTE FUNCTION etl.tell_of_run();
CREATE TRIGGER tell_of_run AFTER UPDATE ON etl.etl_runs
  FOR EACH ROW WHEN (ROW(OLD.status, OLD.attempt, OLD.cancel_requested, OLD.held_back, OLD.error)
         IS DISTINCT FROM ROW(NEW.status, NEW.attempt, NEW.cancel_requested, NEW.held_back, NEW.error))
  EXECUTE FUNCTION etl.tell_of_run();

CREATE FUNCTION etl.tell_of_batch() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM etl.emit('run.batch', (SELECT pipeline_id FROM etl.etl_runs WHERE id = NEW.run_id), NEW.run_id,
                   to_jsonb(NEW) - ARRAY['run_id', 'first_key', 'last_key', 'finished_at']);
  RETURN NULL;
END $$;
CREATE TRIGGER tell_of_batch AFTER INSERT OR UPDATE ON etl.etl_run_batches
  FOR EACH ROW EXECUTE FUNCTION etl.tell_of_batch();
