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

-- Where each pipeline writes, for finding the others that do. Of all addresses only the last task of a plan has a say
-- besides the pipeline itself.
CREATE TABLE etl.etl_pipeline_targets (
  pipeline_id uuid PRIMARY KEY REFERENCES etl.etl_pipelines ON DELETE CASCADE,
  address     text NOT NULL,
  identity    text NOT NULL,
  shared      boolean NOT NULL
);
CREATE INDEX etl_pipeline_targets_by_identity ON etl.etl_pipeline_targets USING hash (identity);

INSERT INTO etl.etl_pipeline_targets (pipeline_id, address, identity, shared)
SELECT p.id, t.address, t.identity, count(*) OVER (PARTITION BY t.identity) > 1
  FROM etl.etl_pipelines p
  CROSS JOIN LATERAL (SELECT coalesce((SELECT target_table FROM etl.etl_pipeline_tasks WHERE pipeline_id = p.id
                                        ORDER BY order_index DESC LIMIT 1), p.target_table)) a(address)
  CROSS JOIN LATERAL (SELECT a.address, etl.target_identity(a.address, p.target_connection)) t(address, identity);

-- Before the trigger that makes a version of each change: the mark does not change what these pipelines do.
UPDATE etl.etl_pipelines p SET shared_target = true FROM etl.etl_pipeline_targets t WHERE t.pipeline_id = p.id AND t.shared;
-- Versions kept so far do not have the new fields; without them the next change would list all three as changed.
UPDATE etl.etl_pipeline_versions v
   SET spec = v.spec || jsonb_build_object('source_table', NULL, 'source_columns', '[]'::jsonb, 'shared_target', p.shared_target)
  FROM etl.etl_pipelines p WHERE p.id = v.pipeline_id;

CREATE TRIGGER version_source_and_sharing BEFORE UPDATE OF source_table, source_columns, shared_target ON etl.etl_pipelines
  FOR EACH ROW WHEN (ROW(OLD.source_table, OLD.source_columns, OLD.shared_target)
    IS DISTINCT FROM ROW(NEW.source_table, NEW.source_columns, NEW.shared_target))
  EXECUTE FUNCTION etl.version_pipeline();

-- config_xact: a change of tasks sets it, and may change where the rows go.
CREATE FUNCTION etl.keep_target() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  address text := coalesce((SELECT target_table FROM etl.etl_pipeline_tasks WHERE pipeline_id = NEW.id
                             ORDER BY order_index DESC LIMIT 1), NEW.target_table);
BEGIN
  INSERT INTO etl.etl_pipeline_targets AS t (pipeline_id, address, identity, shared)
  VALUES (NEW.id, address, etl.target_identity(address, NEW.target_connection), NEW.shared_target)
  ON CONFLICT (pipeline_id) DO UPDATE
     SET address = excluded.address, identity = excluded.identity, shared = excluded.shared
   WHERE ROW(t.address, t.identity, t.shared) IS DISTINCT FROM ROW(excluded.address, excluded.identity, excluded.shared);
  RETURN NULL;
END $$;
CREATE TRIGGER keep_target
  AFTER INSERT OR UPDATE OF target_table, target_connection, shared_target, config_xact ON etl.etl_pipelines
  FOR EACH ROW EXECUTE FUNCTION etl.keep_target();

-- At the end of the transaction, when pipeline and tasks are as they will stay. The lock makes the second of two
-- transactions that claim one target at the same moment see the first. One lock for all targets: a lock for each would
-- exceed the lock table of the server when thousands of pipelines are inserted at once.
CREATE FUNCTION etl.refuse_second_writer() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine  etl.etl_pipeline_targets;
  other uuid;
BEGIN
  SELECT * INTO mine FROM etl.etl_pipeline_targets WHERE pipeline_id = NEW.pipeline_id;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('vitrina.targets', 0));
  SELECT t.pipeline_id INTO other FROM etl.etl_pipeline_targets t
   WHERE t.identity = mine.identity AND t.pipeline_id <> mine.pipeline_id AND NOT (t.shared AND mine.shared) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'pipeline "%" already writes to %, so pipeline "%" cannot',
        (SELECT name FROM etl.etl_pipelines WHERE id = other), mine.address,
        (SELECT name FROM etl.etl_pipelines WHERE id = mine.pipeline_id)
      USING ERRCODE = 'VT005', HINT = 'Choose another target, or set shared_target to true on both pipelines.';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER refuse_second_writer AFTER INSERT OR UPDATE ON etl.etl_pipeline_targets
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION etl.refuse_second_writer();
