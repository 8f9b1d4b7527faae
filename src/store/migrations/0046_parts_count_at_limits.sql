-- The limit of a connection counted runs. A run that is cut into parts has sessions for each part that is being executed, so
-- that a limit of 5 allowed 5 runs with 8 parts each. A run now counts once for each part that runners are executing.
-- Compatible: an older runner counts its own claims of runs in the same way, because the function that it calls does, but it
-- takes parts without regard to limits.

CREATE FUNCTION etl.connection_use(connection text) RETURNS bigint
LANGUAGE sql STABLE SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
  SELECT coalesce(sum(greatest(1, (
           SELECT count(*) FROM etl.etl_run_parts q
            WHERE q.run_id = p.current_run_id AND q.status = 'RUNNING' AND q.lease_until >= clock_timestamp()
              -- A cluster has limits of its own.
              AND (p.engine = 'local' OR q.by_runner)))), 0)::bigint
    FROM etl.etl_pipelines p
   WHERE p.status IN ('RUNNING', 'PAUSE_REQUESTED')
     AND lower(connection) IN (etl.source_side(p.source_connection), etl.target_side(p.target_connection, p.target_table))
$$;
COMMENT ON FUNCTION etl.connection_use(text) IS
  'How many runs read from a connection or write to it now. A run that is cut into parts counts once for each part in progress.';

DO $$
DECLARE
  one regprocedure;
  before text;
  after text;
BEGIN
  FOREACH one IN ARRAY ARRAY[
    'etl.claim_run(text, double precision, jsonb, jsonb, jsonb)', 'etl.why_waiting(uuid)']::regprocedure[]
  LOOP
    before := pg_get_functiondef(one);
    after := regexp_replace(before,
      '\(\s*SELECT count\(\*\) FROM etl\.etl_pipelines \w+\s+WHERE \w+\.status IN \(''RUNNING'', ''PAUSE_REQUESTED''\)\s+AND lower\(([\w.]+)\)\s+IN \(etl\.source_side\([\w.]+\), etl\.target_side\([\w.]+, [\w.]+\)\)\)',
      'etl.connection_use(\1)');
    IF after = before THEN
      RAISE EXCEPTION '% was not changed', one;
    END IF;
    EXECUTE after;
  END LOOP;
END $$;
