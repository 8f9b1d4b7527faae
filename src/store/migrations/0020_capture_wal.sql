-- capture: wal.
-- Compatible: an older runner refuses a pipeline that it does not understand.
ALTER TABLE etl.etl_pipelines DROP CONSTRAINT etl_pipelines_capture_check;
ALTER TABLE etl.etl_pipelines ADD CONSTRAINT etl_pipelines_capture_check CHECK (capture IN ('key', 'xmin', 'wal'));
