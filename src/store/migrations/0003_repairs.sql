-- A repair is a run that mends some rows of a mart: which ones stands here, written by the API, settled by the runner.
-- Compatible: an older runner would run the pipeline as usual instead of repairing it.

CREATE TABLE etl.etl_repairs (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id      uuid NOT NULL REFERENCES etl.etl_runs ON DELETE CASCADE,
  -- The key of the row, each column as text in the order of the mart's key.
  key         text[] NOT NULL,
  repaired_at timestamptz
);
CREATE INDEX etl_repairs_open ON etl.etl_repairs (run_id, id) WHERE repaired_at IS NULL;
