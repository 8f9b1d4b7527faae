-- A pipeline may name a table instead of a query, and two pipelines fill one target only when both say so.
-- Two pipelines on one mart overwrote each other without a warning. Pipelines that share a target today are marked as
-- shared_target, so that they keep running; clear the mark where the sharing was a mistake.
-- Compatible: older runners ignore the new columns, but fail a pipeline that has source_table, because they find no
-- query. Create such pipelines once every runner is upgraded.

ALTER TABLE etl.etl_pipelines
  ALTER COLUMN source_query DROP NOT NULL,
  ADD COLUMN source_table text CHECK (btrim(source_table) <> ''),
  ADD COLUMN source_columns text[] NOT NULL DEFAULT '{}',
  ADD COLUMN shared_target boolean NOT NULL DEFAULT false,
  ADD CONSTRAINT etl_pipelines_one_source CHECK (source_table IS NULL OR source_query IS NULL),
  ADD CONSTRAINT etl_pipelines_columns_of_table CHECK (source_table IS NOT NULL OR source_columns = '{}');
COMMENT ON COLUMN etl.etl_pipelines.source_table IS
  'Read instead of source_query, as SELECT source_columns FROM source_table. At most one of the two is given.';
COMMENT ON COLUMN etl.etl_pipelines.source_columns IS 'Columns of source_table to read. Empty: all of them.';
COMMENT ON COLUMN etl.etl_pipelines.shared_target IS
  'Other pipelines that say so too may write to the same target. Each sees only its own rows as its own.';

-- The default of source_query is an empty text, which is not a query: a table by itself is one source.
CREATE FUNCTION etl.clear_empty_query() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.source_query := NULL;
  RETURN NEW;
END $$;
CREATE TRIGGER clear_empty_query BEFORE INSERT OR UPDATE OF source_query, source_table ON etl.etl_pipelines
  FOR EACH ROW WHEN (NEW.source_table IS NOT NULL AND btrim(NEW.source_query) = '')
  EXECUTE FUNCTION etl.clear_empty_query();

CREATE FUNCTION etl.hold_source() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'pipeline "%" is %: its source table cannot change now', OLD.name, OLD.status
    USING ERRCODE = 'VT002', HINT = 'Pause it or wait until it is IDLE, then change it.';
END $$;
CREATE TRIGGER hold_source BEFORE UPDATE OF source_table, source_columns ON etl.etl_pipelines
  FOR EACH ROW WHEN (OLD.status IN ('RUNNING', 'PAUSE_REQUESTED')
    AND ROW(OLD.source_table, OLD.source_columns) IS DISTINCT FROM ROW(NEW.source_table, NEW.source_columns))
  EXECUTE FUNCTION etl.hold_source();

-- What PostgreSQL would make of one part of a name: quotes removed, else folded from A to Z only, cut off at 63 bytes.
CREATE FUNCTION etl.name_part(part text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN part LIKE '"%' THEN replace(substr(part, 2, length(part) - 2), '""', '"')
              ELSE translate(part, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') END::name::text
$$;

-- Two addresses with the same identity are one target. What is not schema.table, such as es:film_dim, is compared as
-- it is written; names of connections do not depend on case.
CREATE FUNCTION etl.target_identity(target text, connection text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(lower(connection), '') || '|' || coalesce(
    (SELECT quote_ident(etl.name_part(parts[1])) || '.' || quote_ident(etl.name_part(parts[2]))
       FROM regexp_match(btrim(target), '^("(?:[^"]|"")+"|[^".:]+)\.("(?:[^"]|"")+"|[^".:]+)$') parts
      WHERE parts IS NOT NULL),
    btrim(target))
$$;

-- The last task of a plan may lead elsewhere than the pipeline does.
CREATE FUNCTION etl.final_target(pipeline etl.etl_pipelines) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce((SELECT t.target_table FROM etl.etl_pipeline_tasks t WHERE t.pipeline_id = pipeline.id
                    ORDER BY t.order_index DESC LIMIT 1), pipeline.target_table)
$$;

-- Pipelines that write to a target: their own address by the index, those with a task that leads there one by one.
CREATE INDEX etl_pipelines_by_target ON etl.etl_pipelines (etl.target_identity(target_table, target_connection));
CREATE FUNCTION etl.writers_of(identity text) RETURNS SETOF etl.etl_pipelines
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT p.* FROM etl.etl_pipelines p
   WHERE etl.target_identity(p.target_table, p.target_connection) = identity
     AND etl.target_identity(etl.final_target(p), p.target_connection) = identity
  UNION
  SELECT p.* FROM etl.etl_pipelines p
   WHERE p.id IN (SELECT t.pipeline_id FROM etl.etl_pipeline_tasks t WHERE t.target_table IS NOT NULL)
     AND etl.target_identity(etl.final_target(p), p.target_connection) = identity
$$;

-- Before the trigger that makes a version of each change: the mark does not change what these pipelines do.
UPDATE etl.etl_pipelines p SET shared_target = true
  FROM (SELECT etl.target_identity(etl.final_target(p), p.target_connection) AS identity
          FROM etl.etl_pipelines p GROUP BY 1 HAVING count(*) > 1) shared
 WHERE etl.target_identity(etl.final_target(p), p.target_connection) = shared.identity;
CREATE TRIGGER version_source_and_sharing BEFORE UPDATE OF source_table, source_columns, shared_target ON etl.etl_pipelines
  FOR EACH ROW WHEN (ROW(OLD.source_table, OLD.source_columns, OLD.shared_target)
    IS DISTINCT FROM ROW(NEW.source_table, NEW.source_columns, NEW.shared_target))
  EXECUTE FUNCTION etl.version_pipeline();
-- Versions kept so far do not have the new fields; without them the next change would list all three as changed.
UPDATE etl.etl_pipeline_versions v
   SET spec = v.spec || jsonb_build_object('source_table', NULL, 'source_columns', '[]'::jsonb, 'shared_target', p.shared_target)
  FROM etl.etl_pipelines p WHERE p.id = v.pipeline_id;

-- At the end of the transaction, when pipeline and tasks are as they will stay. The lock lets one of two transactions
-- that claim the same target at the same moment see the other.
CREATE FUNCTION etl.refuse_second_writer() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  pipeline etl.etl_pipelines;
  other    etl.etl_pipelines;
  identity text;
BEGIN
  SELECT * INTO pipeline FROM etl.etl_pipelines WHERE id = NEW.id;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  identity := etl.target_identity(etl.final_target(pipeline), pipeline.target_connection);
  PERFORM pg_advisory_xact_lock(hashtextextended('vitrina.target ' || identity, 0));
  SELECT w.* INTO other FROM etl.writers_of(identity) w
   WHERE w.id <> pipeline.id AND NOT (w.shared_target AND pipeline.shared_target) ORDER BY w.name LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'pipeline "%" already writes to %, so pipeline "%" cannot', other.name,
        etl.final_target(pipeline), pipeline.name
      USING ERRCODE = 'VT003', DETAIL = other.id::text,
            HINT = 'Choose another target, or set shared_target to true on both pipelines.';
  END IF;
  RETURN NULL;
END $$;
-- config_xact: a change of tasks sets it, and may change where the rows go.
CREATE CONSTRAINT TRIGGER refuse_second_writer
  AFTER INSERT OR UPDATE OF target_table, target_connection, shared_target, config_xact ON etl.etl_pipelines
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION etl.refuse_second_writer();
