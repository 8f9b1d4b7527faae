-- The end of a run is one statement: it also records the plan of a short run, what held its checkpoint back and what it
-- cost, and it looks for rows to repair that any run of the pipeline has left, so that a runner need not ask before.
-- Compatible: an older runner passes no notes, and asks for repairs as before.

CREATE OR REPLACE FUNCTION etl.finish_run(pipeline uuid, held_fence bigint, run uuid, outcome jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  held text;
  ended etl.etl_runs;
  plan jsonb := nullif(outcome -> 'plan', 'null');
  measured jsonb := nullif(outcome -> 'measured', 'null');
  blocks bigint := measured -> 'cost' ->> 'blocksRead';
  wal bigint := measured -> 'cost' ->> 'walBytes';
BEGIN
  SELECT p.status INTO held FROM etl.etl_pipelines p
   WHERE p.id = pipeline AND p.fence = held_fence AND p.status IN ('RUNNING', 'PAUSE_REQUESTED') FOR UPDATE;
  IF held IS NULL THEN
    RETURN jsonb_build_object('end', 'lost');
  END IF;
  -- Under the lock of the pipeline, which a repair request takes too: none is missed. Of any run: a paused or failed one
  -- may have left them.
  IF outcome ->> 'status' = 'SUCCESS' AND EXISTS (
    SELECT FROM etl.etl_repairs q JOIN etl.etl_runs r ON r.id = q.run_id WHERE r.pipeline_id = pipeline AND q.repaired_at IS NULL)
  THEN
    UPDATE etl.etl_runs r
       SET strategy = coalesce(plan ->> 'strategy', r.strategy), way = coalesce(plan ->> 'way', r.way),
           guarantee = coalesce(plan ->> 'guarantee', r.guarantee), held_back = nullif(measured -> 'heldBack', 'null'),
           cost_blocks_read = coalesce(r.cost_blocks_read + blocks, blocks, r.cost_blocks_read),
           cost_wal_bytes = coalesce(r.cost_wal_bytes + wal, wal, r.cost_wal_bytes)
     WHERE r.id = run AND measured IS NOT NULL;
    RETURN jsonb_build_object('end', 'repairs');
  END IF;
  -- Two statements, because a trigger fires whenever held_back is among the columns that are set.
  IF measured IS NULL THEN
    UPDATE etl.etl_runs r
       SET status = outcome ->> 'status', finished_at = clock_timestamp(), error = outcome ->> 'error',
           error_code = outcome ->> 'code', error_hint = outcome ->> 'hint'
     WHERE r.id = run AND r.status = 'RUNNING' RETURNING r.* INTO ended;
  ELSE
    UPDATE etl.etl_runs r
       SET status = outcome ->> 'status', finished_at = clock_timestamp(), error = outcome ->> 'error',
           error_code = outcome ->> 'code', error_hint = outcome ->> 'hint',
           strategy = coalesce(plan ->> 'strategy', r.strategy), way = coalesce(plan ->> 'way', r.way),
           guarantee = coalesce(plan ->> 'guarantee', r.guarantee), held_back = nullif(measured -> 'heldBack', 'null'),
           cost_blocks_read = coalesce(r.cost_blocks_read + blocks, blocks, r.cost_blocks_read),
           cost_wal_bytes = coalesce(r.cost_wal_bytes + wal, wal, r.cost_wal_bytes)
     WHERE r.id = run AND r.status = 'RUNNING' RETURNING r.* INTO ended;
  END IF;
  -- A requested pause takes effect however the run ended.
  UPDATE etl.etl_pipelines p
     SET status = CASE WHEN held = 'PAUSE_REQUESTED' THEN 'PAUSED' WHEN outcome ->> 'status' = 'FAILED' THEN 'FAILED' ELSE 'IDLE' END
   WHERE p.id = pipeline;
  -- Without a row, the run was deleted from the history while it was in progress.
  RETURN jsonb_build_object('end', 'ended', 'run', CASE WHEN ended.id IS NOT NULL THEN to_jsonb(ended) || jsonb_build_object(
    'duration_ms', date_part('epoch', ended.finished_at - ended.started_at) * 1000) END);
END $$;
COMMENT ON FUNCTION etl.finish_run(uuid, bigint, uuid, jsonb) IS
  'Ends a run, records the notes about it, and releases its pipeline. "lost": another runner holds it; "repairs": it was about to succeed and has rows to repair.';

-- As before, but rows to repair of any run of a member are looked for, as etl.finish_run does: it would not end a member
-- that has some, while the others have ended.
CREATE OR REPLACE FUNCTION etl.finish_group(runs jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path TO 'pg_catalog', 'pg_temp'
AS $$
DECLARE
  one jsonb;
  ended jsonb := '[]';
BEGIN
  PERFORM FROM etl.etl_pipelines p WHERE p.id IN (SELECT (r ->> 'pipeline')::uuid FROM jsonb_array_elements(runs) r) ORDER BY p.id FOR UPDATE;
  IF EXISTS (SELECT FROM jsonb_array_elements(runs) r
              WHERE NOT EXISTS (SELECT FROM etl.etl_pipelines p WHERE p.id = (r ->> 'pipeline')::uuid AND p.fence = (r ->> 'fence')::bigint
                                   AND p.status IN ('RUNNING', 'PAUSE_REQUESTED'))) THEN
    RETURN jsonb_build_object('end', 'lost');
  END IF;
  IF EXISTS (SELECT FROM jsonb_array_elements(runs) r JOIN etl.etl_runs e ON e.pipeline_id = (r ->> 'pipeline')::uuid
                JOIN etl.etl_repairs q ON q.run_id = e.id
              WHERE r -> 'outcome' ->> 'status' = 'SUCCESS' AND q.repaired_at IS NULL) THEN
    RETURN jsonb_build_object('end', 'repairs');
  END IF;
  -- A group is paused as a whole.
  IF EXISTS (SELECT FROM jsonb_array_elements(runs) r JOIN etl.etl_pipelines p ON p.id = (r ->> 'pipeline')::uuid WHERE p.status = 'PAUSE_REQUESTED') THEN
    UPDATE etl.etl_pipelines p SET status = 'PAUSE_REQUESTED'
      FROM jsonb_array_elements(runs) r WHERE p.id = (r ->> 'pipeline')::uuid AND p.status = 'RUNNING';
  END IF;
  FOR one IN SELECT r FROM jsonb_array_elements(runs) WITH ORDINALITY AS e(r, n) ORDER BY n LOOP
    ended := ended || jsonb_build_array(
      etl.finish_run((one ->> 'pipeline')::uuid, (one ->> 'fence')::bigint, (one ->> 'run')::uuid, one -> 'outcome') -> 'run');
  END LOOP;
  RETURN jsonb_build_object('end', 'ended', 'runs', ended);
END $$;
