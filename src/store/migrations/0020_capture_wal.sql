-- capture: wal follows the changes of the source in its write-ahead log, and freshness: live keeps such a pipeline up.
-- Compatible: an older runner fails a pipeline whose capture it does not know. Use them once every runner is upgraded.

ALTER TABLE etl.etl_pipelines DROP CONSTRAINT etl_pipelines_capture_check;
ALTER TABLE etl.etl_pipelines
  ADD CONSTRAINT etl_pipelines_capture_check CHECK (capture IN ('key', 'xmin', 'wal')),
  ADD COLUMN freshness text CONSTRAINT etl_pipelines_freshness_check CHECK (freshness = 'live');
COMMENT ON COLUMN etl.etl_pipelines.freshness IS
  'live: with capture wal, each commit of the source is applied at once, and a run lasts some minutes. NULL: on schedule or request.';
CREATE INDEX etl_pipelines_live ON etl.etl_pipelines (id) WHERE freshness IS NOT NULL;

CREATE TRIGGER version_freshness BEFORE UPDATE OF freshness ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.freshness IS DISTINCT FROM NEW.freshness) EXECUTE FUNCTION etl.version_pipeline();
