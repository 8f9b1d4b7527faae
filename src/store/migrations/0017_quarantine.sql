-- A row that the target keeps refusing was held once per run: 196 bad rows became 587 after three runs. Now a pipeline
-- holds a key once, with the values and the reason of the newest refusal. Rows that were replayed or discarded stayed
-- readable in full; they lose their values at once, and the API removes them after QUARANTINE_RETENTION_DAYS.
-- Not compatible: an older runner fails a batch in which rows are refused. Stop older runners first; no row is lost.

UPDATE etl.etl_quarantine newest SET status = 'REPLAY_REQUESTED'
 WHERE status = 'HELD'
   AND EXISTS (SELECT FROM etl.etl_quarantine other
                WHERE other.pipeline_id = newest.pipeline_id AND other.row_key = newest.row_key
                  AND other.status = 'REPLAY_REQUESTED' AND other.id < newest.id);

DELETE FROM etl.etl_quarantine older
 USING etl.etl_quarantine newer
 WHERE newer.pipeline_id = older.pipeline_id AND newer.row_key = older.row_key AND newer.id > older.id
   AND older.status IN ('HELD', 'REPLAY_REQUESTED') AND newer.status IN ('HELD', 'REPLAY_REQUESTED');

ALTER TABLE etl.etl_quarantine DROP CONSTRAINT etl_quarantine_run_id_row_key_key;
CREATE UNIQUE INDEX etl_quarantine_held_once ON etl.etl_quarantine (pipeline_id, row_key) WHERE status = 'HELD';
CREATE INDEX etl_quarantine_settled ON etl.etl_quarantine (settled_at) WHERE settled_at IS NOT NULL;

CREATE FUNCTION etl.clear_settled_row() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.settled_at := coalesce(NEW.settled_at, clock_timestamp());
  NEW.columns := '{}';
  NEW.row_text := '{}';
  -- The server's message may quote a value.
  NEW.reason := 'Values and reason were removed when the row was settled.';
  RETURN NEW;
END $$;

CREATE TRIGGER clear_settled_row BEFORE UPDATE ON etl.etl_quarantine
  FOR EACH ROW WHEN (NEW.status IN ('REPLAYED', 'DISCARDED')) EXECUTE FUNCTION etl.clear_settled_row();

UPDATE etl.etl_quarantine SET status = status WHERE status IN ('REPLAYED', 'DISCARDED');
