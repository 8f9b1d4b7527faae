-- What a runner said about a run, kept beside it for people who look at the run later. Goes when the run goes.
-- Compatible: older runners write none.

CREATE TABLE etl.etl_run_log (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id  uuid NOT NULL REFERENCES etl.etl_runs ON DELETE CASCADE,
  at      timestamptz NOT NULL,
  level   text NOT NULL CHECK (level IN ('debug', 'info', 'warn', 'error')),
  message text NOT NULL,
  fields  jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX etl_run_log_by_run ON etl.etl_run_log (run_id, id);
-- Old runs are found by when they ended.
CREATE INDEX etl_runs_finished ON etl.etl_runs (finished_at) WHERE finished_at IS NOT NULL;
