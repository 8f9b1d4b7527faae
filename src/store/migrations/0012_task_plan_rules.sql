-- A task plan written with SQL obeys the same rules as one sent to the API. Before, a step with an unknown task_type or
-- a second SQL step was ignored, and the run reported SUCCESS with rows that were never transformed.
-- Rows that break the rules already stay as they are (NOT VALID): the runner refuses to run such a plan, and validate
-- names the row. This migration therefore never fails on data that is there.
-- Compatible: older runners keep running.

-- Each step by itself. The rules are those of src/model/task-plan.ts; of a name beyond ASCII, only the length is checked
-- here, because which characters are letters depends on the locale of the database.
ALTER TABLE etl.etl_pipeline_tasks
  ADD CONSTRAINT etl_pipeline_tasks_task_type CHECK (task_type IN ('SQL', 'PYTHON')) NOT VALID,
  ADD CONSTRAINT etl_pipeline_tasks_order_index CHECK (order_index BETWEEN 0 AND 1000000) NOT VALID,
  ADD CONSTRAINT etl_pipeline_tasks_body CHECK (body ~ '\S') NOT VALID,
  ADD CONSTRAINT etl_pipeline_tasks_function_name CHECK (
    task_type <> 'PYTHON'
    OR (body !~ '[\x01-\x2c\x2e\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]' AND body ~ '^[^0-9-]' AND char_length(body) <= 200)
  ) NOT VALID;

-- What is wrong with the steps of a plan taken together; NULL: nothing.
CREATE FUNCTION etl.plan_problem(pipeline uuid) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT format('the step at order_index %s (task %s) %s', step.order_index, step.id, step.problem)
    FROM (SELECT t.order_index, t.id, CASE
                   WHEN t.place = 1 AND t.task_type = 'PYTHON' THEN 'is the first one and must be SQL: it reads the rows'
                   WHEN t.place > 1 AND t.task_type = 'SQL' THEN 'is SQL, but only the first step may be SQL'
                   WHEN t.place < t.steps AND t.target_table IS NOT NULL THEN 'has a target_table, but only the last step may have one'
                 END AS problem
            FROM (SELECT row_number() OVER (ORDER BY all_steps.order_index) AS place, count(*) OVER () AS steps, all_steps.*
                    FROM etl.etl_pipeline_tasks all_steps WHERE all_steps.pipeline_id = pipeline) t) step
   WHERE step.problem IS NOT NULL ORDER BY step.order_index LIMIT 1
$$;

-- The type of a pipeline follows from its plan, as it does in the API.
CREATE FUNCTION etl.type_follows_tasks() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE etl.etl_pipelines p SET type = planned.type
    FROM (SELECT changed.id, CASE WHEN EXISTS (SELECT FROM etl.etl_pipeline_tasks t
                                                WHERE t.pipeline_id = changed.id AND t.task_type = 'PYTHON')
                                  THEN 'PYTHON' ELSE 'SQL' END AS type
            FROM unnest(CASE TG_OP WHEN 'INSERT' THEN ARRAY[NEW.pipeline_id] WHEN 'DELETE' THEN ARRAY[OLD.pipeline_id]
                                   ELSE ARRAY[OLD.pipeline_id, NEW.pipeline_id] END) AS changed(id)) planned
   WHERE p.id = planned.id AND p.type <> planned.type;
  RETURN NULL;
END $$;
-- After change_tasks, by the order of the names: that one refuses a change while a run is under way.
CREATE TRIGGER type_follows_tasks AFTER INSERT OR UPDATE OR DELETE ON etl.etl_pipeline_tasks
  FOR EACH ROW EXECUTE FUNCTION etl.type_follows_tasks();

-- At the end of the transaction: between two statements of it a plan may be incomplete. Two sessions that change the same
-- plan take turns, because change_tasks locks the row of the pipeline.
CREATE FUNCTION etl.require_plan() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  broken record;
BEGIN
  SELECT p.name, etl.plan_problem(p.id) AS problem INTO broken FROM etl.etl_pipelines p
   WHERE p.id = ANY (CASE TG_OP WHEN 'INSERT' THEN ARRAY[NEW.pipeline_id] WHEN 'DELETE' THEN ARRAY[OLD.pipeline_id]
                                ELSE ARRAY[OLD.pipeline_id, NEW.pipeline_id] END)
     AND etl.plan_problem(p.id) IS NOT NULL LIMIT 1;
  IF broken.problem IS NOT NULL THEN
    RAISE EXCEPTION 'task plan of pipeline "%": %', broken.name, broken.problem
      USING ERRCODE = 'VT004',
            HINT = 'A plan is one SQL step followed by PYTHON steps. Change all its steps in one transaction.';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER require_plan AFTER INSERT OR UPDATE OR DELETE ON etl.etl_pipeline_tasks
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION etl.require_plan();

CREATE FUNCTION etl.require_type() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  task etl.etl_pipeline_tasks;
BEGIN
  SELECT t.* INTO task FROM etl.etl_pipeline_tasks t JOIN etl.etl_pipelines p ON p.id = t.pipeline_id
   WHERE p.id = NEW.id AND p.type = 'SQL' AND t.task_type = 'PYTHON' ORDER BY t.order_index LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'pipeline "%" cannot be of type SQL: the step at order_index % (task %) is PYTHON',
                    NEW.name, task.order_index, task.id
      USING ERRCODE = 'VT004', HINT = 'Delete the PYTHON steps in the same transaction, or leave the type PYTHON.';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER require_type AFTER UPDATE OF type ON etl.etl_pipelines
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.type = 'SQL') EXECUTE FUNCTION etl.require_type();

-- A plan with functions ran although the pipeline was called SQL, and keeps running. Without the trigger that would
-- refuse this for a pipeline that is running: nothing changes for its run, and it is not a new version.
ALTER TABLE etl.etl_pipelines DISABLE TRIGGER version_pipeline;
UPDATE etl.etl_pipelines p SET type = 'PYTHON'
 WHERE p.type = 'SQL' AND EXISTS (SELECT FROM etl.etl_pipeline_tasks t WHERE t.pipeline_id = p.id AND t.task_type = 'PYTHON');
ALTER TABLE etl.etl_pipelines ENABLE TRIGGER version_pipeline;
