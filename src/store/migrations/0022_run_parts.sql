-- parallelism cuts a pass over every row into parts, which any runner may execute. A part commits at most once.
-- Compatible: an older runner reads such a pipeline in one stream. It must not take over a run that is cut into parts:
-- it would read every row again, which is slow but changes nothing.

ALTER TABLE etl.etl_pipelines
  ADD COLUMN parallelism integer DEFAULT 1
    CONSTRAINT etl_pipelines_parallelism_check CHECK (parallelism BETWEEN 1 AND 256);
COMMENT ON COLUMN etl.etl_pipelines.parallelism IS
  'How many parts of a run may be executed at the same time. 1: one stream. NULL: auto.';

CREATE TRIGGER version_parallelism BEFORE UPDATE OF parallelism ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.parallelism IS DISTINCT FROM NEW.parallelism) EXECUTE FUNCTION etl.version_pipeline();

ALTER TABLE etl.etl_runs
  ADD COLUMN parts_total integer NOT NULL DEFAULT 0,
  ADD COLUMN parts_done integer NOT NULL DEFAULT 0,
  ADD COLUMN parts_plan jsonb;
COMMENT ON COLUMN etl.etl_runs.parts_total IS 'Into how many parts the run is cut. 0: it is one stream.';
COMMENT ON COLUMN etl.etl_runs.parts_done IS 'How many of its parts are committed.';
COMMENT ON COLUMN etl.etl_runs.parts_plan IS
  'What its parts have in common: step, snapshot, number at the same time. NULL: no part may be claimed.';

CREATE TABLE etl.etl_run_parts (
  run_id uuid NOT NULL REFERENCES etl.etl_runs ON DELETE CASCADE,
  part integer NOT NULL,
  lo text[],
  hi text[],
  status text NOT NULL DEFAULT 'PENDING'
    CONSTRAINT etl_run_parts_status_check CHECK (status IN ('PENDING', 'RUNNING', 'DONE', 'FAILED', 'LEFT')),
  owner text,
  fence bigint,
  lease_until timestamptz,
  attempts integer NOT NULL DEFAULT 0,
  deaths integer NOT NULL DEFAULT 0,
  rows bigint NOT NULL DEFAULT 0,
  counts jsonb,
  error jsonb,
  started_at timestamptz,
  finished_at timestamptz,
  PRIMARY KEY (run_id, part)
);
COMMENT ON TABLE etl.etl_run_parts IS
  'The parts of a run: ranges of keys that runners read and write at the same time. A part is DONE in the transaction of its rows.';
COMMENT ON COLUMN etl.etl_run_parts.status IS
  'PENDING: any runner may claim it. FAILED: the next attempt of the run tries it again. LEFT: the run ended before it was committed.';
COMMENT ON COLUMN etl.etl_run_parts.lo IS 'The rows of the part come after this key. NULL: from the first row.';
COMMENT ON COLUMN etl.etl_run_parts.hi IS 'Up to and including this key. NULL: to the last row, and rows whose key is NULL.';
COMMENT ON COLUMN etl.etl_run_parts.owner IS 'The runner that works on the part, or worked on it last.';
COMMENT ON COLUMN etl.etl_run_parts.fence IS 'The fence of the pipeline when the part was claimed.';
COMMENT ON COLUMN etl.etl_run_parts.attempts IS 'How often the part was claimed. Only the last claim can commit it.';
COMMENT ON COLUMN etl.etl_run_parts.deaths IS 'How often its runner died.';
COMMENT ON COLUMN etl.etl_run_parts.rows IS 'Rows read from the source.';
COMMENT ON COLUMN etl.etl_run_parts.counts IS 'What the part did to the mart.';

CREATE INDEX etl_run_parts_open ON etl.etl_run_parts (run_id) WHERE status IN ('PENDING', 'RUNNING');

-- Runners look for open parts all the time: those of ended runs must not be among them.
CREATE FUNCTION etl.leave_parts() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE etl.etl_run_parts SET status = 'LEFT', lease_until = NULL
   WHERE run_id = NEW.id AND status IN ('PENDING', 'RUNNING', 'FAILED');
  RETURN NULL;
END $$;
CREATE TRIGGER leave_parts AFTER UPDATE OF status ON etl.etl_runs
  FOR EACH ROW WHEN (NEW.parts_total > 0 AND OLD.status = 'RUNNING' AND NEW.status IN ('SUCCESS', 'FAILED', 'PAUSED', 'CANCELLED'))
  EXECUTE FUNCTION etl.leave_parts();
