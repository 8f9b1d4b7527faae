-- The meta store: what a pipeline is, what it did, and how far it got. API and runner meet only here.
-- Compatible: the first migration, there is no older runner.

CREATE SCHEMA IF NOT EXISTS etl;
CREATE SCHEMA IF NOT EXISTS analytics;

CREATE FUNCTION etl.rfc3339(moment timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;

CREATE TABLE etl.etl_pipelines (
  id                 uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name               text NOT NULL UNIQUE CHECK (name <> ''),
  description        text NOT NULL DEFAULT '',
  type               text NOT NULL DEFAULT 'SQL' CHECK (type IN ('SQL', 'PYTHON')),
  source_type        text NOT NULL DEFAULT 'postgres',
  source_connection  text,
  source_query       text NOT NULL DEFAULT '',
  target_table       text NOT NULL,
  target_connection  text,
  mode               text NOT NULL DEFAULT 'full' CHECK (mode IN ('full', 'incremental')),
  full_strategy      text NOT NULL DEFAULT 'upsert' CHECK (full_strategy IN ('upsert', 'replace')),
  incremental_key    text,
  incremental_id_key text,
  capture            text NOT NULL DEFAULT 'key' CHECK (capture IN ('key', 'xmin')),
  deletes            text NOT NULL DEFAULT 'ignore' CHECK (deletes IN ('ignore', 'sweep')),
  key_columns        text[] NOT NULL DEFAULT '{}',
  batch_size         integer CHECK (batch_size > 0),
  enabled            boolean NOT NULL DEFAULT true,
  schedule_interval  text,
  schedule_timezone  text NOT NULL DEFAULT 'UTC',
  quarantine_limit   integer NOT NULL DEFAULT 100 CHECK (quarantine_limit >= 0),
  delete_brake       double precision NOT NULL DEFAULT 0.5 CHECK (delete_brake BETWEEN 0 AND 1),
  status             text NOT NULL DEFAULT 'IDLE'
                     CHECK (status IN ('IDLE', 'RUN_REQUESTED', 'RUNNING', 'PAUSE_REQUESTED', 'PAUSED', 'FAILED')),
  config_version     integer NOT NULL DEFAULT 1,
  -- Who holds it: the fence grows with every claim, so that an older holder can be told from the present one.
  fence              bigint NOT NULL DEFAULT 0,
  lease_owner        text,
  lease_until        timestamptz,
  requested_at       timestamptz,
  current_run_id     uuid,
  next_run_at        timestamptz,
  created_at         timestamptz NOT NULL DEFAULT now(),
  updated_at         timestamptz NOT NULL DEFAULT now()
);
COMMENT ON COLUMN etl.etl_pipelines.batch_size IS 'Rows in a batch. NULL: auto, the engine keeps a batch near its target duration.';
CREATE INDEX etl_pipelines_active ON etl.etl_pipelines (requested_at)
  WHERE status IN ('RUN_REQUESTED', 'RUNNING', 'PAUSE_REQUESTED');
CREATE INDEX etl_pipelines_due ON etl.etl_pipelines (next_run_at) WHERE schedule_interval IS NOT NULL;

CREATE TABLE etl.etl_pipeline_tasks (
  id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  pipeline_id  uuid NOT NULL REFERENCES etl.etl_pipelines ON DELETE CASCADE,
  order_index  integer NOT NULL,
  task_type    text NOT NULL,
  body         text NOT NULL,
  source_table text,
  target_table text,
  UNIQUE (pipeline_id, order_index) DEFERRABLE INITIALLY IMMEDIATE
);

-- The checkpoint. When the target is another database, the authoritative row is there, beside the rows it speaks of,
-- and this one is a copy for people to read.
CREATE TABLE etl.etl_state (
  pipeline_id        uuid PRIMARY KEY REFERENCES etl.etl_pipelines ON DELETE CASCADE,
  last_processed_key text,
  last_processed_id  text,
  -- Where an unfinished pass stands; NULL between passes.
  position           jsonb,
  ver                bigint NOT NULL DEFAULT 0,
  fence              bigint NOT NULL DEFAULT 0,
  updated_at         timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE etl.etl_runs (
  id               uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  pipeline_id      uuid NOT NULL REFERENCES etl.etl_pipelines ON DELETE CASCADE,
  status           text NOT NULL DEFAULT 'REQUESTED'
                   CHECK (status IN ('REQUESTED', 'RUNNING', 'SUCCESS', 'FAILED', 'PAUSED', 'CANCELLED')),
  trigger          text NOT NULL DEFAULT 'sql',
  attempt          integer NOT NULL DEFAULT 0,
  -- How often a runner died in this run since its last committed batch.
  deaths           integer NOT NULL DEFAULT 0,
  cancel_requested boolean NOT NULL DEFAULT false,
  config_version   integer NOT NULL DEFAULT 1,
  runner_id        text,
  strategy         text,
  way              text,
  guarantee        text,
  requested_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  started_at       timestamptz,
  finished_at      timestamptz,
  rows_read        bigint NOT NULL DEFAULT 0,
  rows_written     bigint NOT NULL DEFAULT 0,
  rows_inserted    bigint NOT NULL DEFAULT 0,
  rows_updated     bigint NOT NULL DEFAULT 0,
  rows_unchanged   bigint NOT NULL DEFAULT 0,
  rows_deleted     bigint NOT NULL DEFAULT 0,
  rows_quarantined bigint NOT NULL DEFAULT 0,
  -- Rows that another row of the same batch with the same key replaced.
  rows_duplicate   bigint NOT NULL DEFAULT 0,
  batches          integer NOT NULL DEFAULT 0,
  held_back        jsonb,
  error            text CHECK (length(error) <= 4000),
  error_code       text,
  error_hint       text
);
CREATE INDEX etl_runs_by_pipeline ON etl.etl_runs (pipeline_id, requested_at DESC, id DESC);
CREATE INDEX etl_runs_by_time ON etl.etl_runs (requested_at DESC, id DESC);

CREATE TABLE etl.etl_run_batches (
  run_id           uuid NOT NULL REFERENCES etl.etl_runs ON DELETE CASCADE,
  batch            integer NOT NULL,
  attempt          integer NOT NULL,
  step             text NOT NULL,
  rows_read        bigint NOT NULL,
  rows_inserted    bigint NOT NULL,
  rows_updated     bigint NOT NULL,
  rows_unchanged   bigint NOT NULL,
  rows_deleted     bigint NOT NULL,
  rows_quarantined bigint NOT NULL,
  rows_duplicate   bigint NOT NULL,
  first_key        text,
  last_key         text,
  duration_ms      double precision NOT NULL,
  finished_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (run_id, batch)
);

-- Rows that the target refused, as the source gave them. columns and row_text put them back exactly as they were.
CREATE TABLE etl.etl_quarantine (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  pipeline_id uuid NOT NULL REFERENCES etl.etl_pipelines ON DELETE CASCADE,
  run_id      uuid NOT NULL,
  status      text NOT NULL DEFAULT 'HELD' CHECK (status IN ('HELD', 'REPLAY_REQUESTED', 'REPLAYED', 'DISCARDED')),
  row_key     text NOT NULL,
  columns     text[] NOT NULL,
  row_text    text[] NOT NULL,
  reason      text NOT NULL,
  sqlstate    text,
  refused_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  settled_at  timestamptz,
  UNIQUE (run_id, row_key)
);
CREATE INDEX etl_quarantine_held ON etl.etl_quarantine (pipeline_id, id) WHERE status = 'HELD';

CREATE TABLE etl.etl_runners (
  id           text PRIMARY KEY,
  host         text NOT NULL,
  pid          integer NOT NULL,
  version      text NOT NULL,
  concurrency  integer NOT NULL,
  started_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  stopped_at   timestamptz
);

-- R3.1, and nothing else. model/status.ts holds the same pairs with their reasons.
CREATE FUNCTION etl.is_transition(old_status text, new_status text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (old_status, new_status) IN (
  ('IDLE', 'RUN_REQUESTED'), ('PAUSED', 'RUN_REQUESTED'), ('FAILED', 'RUN_REQUESTED'),
  ('RUN_REQUESTED', 'RUNNING'),
  ('RUNNING', 'PAUSE_REQUESTED'), ('PAUSE_REQUESTED', 'PAUSED'),
  ('RUNNING', 'IDLE'), ('RUNNING', 'FAILED')
)
$$;

CREATE FUNCTION etl.guard_new_pipeline() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.status <> 'IDLE' THEN
    RAISE EXCEPTION 'pipeline "%" cannot begin its life as %', NEW.name, NEW.status
      USING ERRCODE = 'VT001', HINT = 'Insert it with status IDLE, then set RUN_REQUESTED.';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard_new_pipeline BEFORE INSERT ON etl.etl_pipelines
  FOR EACH ROW EXECUTE FUNCTION etl.guard_new_pipeline();

CREATE FUNCTION etl.give_new_pipeline_its_state() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO etl.etl_state (pipeline_id) VALUES (NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER give_new_pipeline_its_state AFTER INSERT ON etl.etl_pipelines
  FOR EACH ROW EXECUTE FUNCTION etl.give_new_pipeline_its_state();

-- Every move of a pipeline passes here, the API's, the runner's and the one typed into psql:
-- an illegal one is refused, a request gets its run, an ended run gives the lease back.
CREATE FUNCTION etl.move_pipeline() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT etl.is_transition(OLD.status, NEW.status) THEN
    RAISE EXCEPTION 'pipeline "%" cannot move from % to %', OLD.name, OLD.status, NEW.status
      USING ERRCODE = 'VT001',
            HINT = 'Allowed: IDLE, PAUSED or FAILED to RUN_REQUESTED; RUN_REQUESTED to RUNNING; '
                   'RUNNING to IDLE, FAILED or PAUSE_REQUESTED; PAUSE_REQUESTED to PAUSED.';
  END IF;

  IF NEW.status = 'RUN_REQUESTED' THEN
    NEW.requested_at := clock_timestamp();
    NEW.current_run_id := gen_random_uuid();
    INSERT INTO etl.etl_runs (id, pipeline_id, config_version, trigger)
    VALUES (NEW.current_run_id, NEW.id, NEW.config_version,
            coalesce(nullif(current_setting('vitrina.trigger', true), ''), 'sql'));
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
CREATE TRIGGER move_pipeline BEFORE UPDATE OF status ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION etl.move_pipeline();

-- Every change of the configuration is a new version; what would corrupt a run is refused while one is under way.
CREATE FUNCTION etl.version_pipeline() RETURNS trigger
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
  NEW.config_version := OLD.config_version + 1;
  NEW.updated_at := clock_timestamp();
  RETURN NEW;
END $$;
CREATE TRIGGER version_pipeline BEFORE UPDATE ON etl.etl_pipelines
  FOR EACH ROW WHEN (
    ROW(OLD.name, OLD.description, OLD.type, OLD.source_type, OLD.source_connection, OLD.source_query, OLD.target_table,
        OLD.target_connection, OLD.mode, OLD.full_strategy, OLD.incremental_key, OLD.incremental_id_key, OLD.capture,
        OLD.deletes, OLD.key_columns, OLD.batch_size, OLD.enabled, OLD.schedule_interval, OLD.schedule_timezone,
        OLD.quarantine_limit, OLD.delete_brake)
    IS DISTINCT FROM
    ROW(NEW.name, NEW.description, NEW.type, NEW.source_type, NEW.source_connection, NEW.source_query, NEW.target_table,
        NEW.target_connection, NEW.mode, NEW.full_strategy, NEW.incremental_key, NEW.incremental_id_key, NEW.capture,
        NEW.deletes, NEW.key_columns, NEW.batch_size, NEW.enabled, NEW.schedule_interval, NEW.schedule_timezone,
        NEW.quarantine_limit, NEW.delete_brake))
  EXECUTE FUNCTION etl.version_pipeline();
