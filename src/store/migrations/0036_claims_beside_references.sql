-- A session that inserts a row with a reference to a pipeline (what its query reads, the result of a check) locks the key of
-- the pipeline until it commits. FOR UPDATE excludes this lock, so that SKIP LOCKED left a requested run to the next look.
-- FOR NO KEY UPDATE is what the UPDATE after it takes: it only skips pipelines that another session changes.
-- Compatible: both exclude each other, so older runners may claim at the same time.

DO $$
DECLARE
  one regprocedure;
BEGIN
  FOREACH one IN ARRAY ARRAY[
    'etl.claim_run(text, double precision, jsonb, jsonb, jsonb)', 'etl.request_due_runs()']::regprocedure[]
  LOOP
    EXECUTE replace(replace(pg_get_functiondef(one),
      'FOR UPDATE SKIP LOCKED', 'FOR NO KEY UPDATE SKIP LOCKED'), 'FOR UPDATE OF p SKIP LOCKED', 'FOR NO KEY UPDATE OF p SKIP LOCKED');
  END LOOP;
END $$;
