-- Elasticsearch, ClickHouse and S3 take the rows of a run in parts as well.
-- Compatible: an older runner must not take a part of such a run. It would fail, and the run with it.

ALTER TABLE etl.etl_run_parts ADD COLUMN marks text[];
COMMENT ON COLUMN etl.etl_run_parts.marks IS
  'What the sink has to know about the rows of the part when it publishes them. NULL: nothing, or the pass is complete.';
