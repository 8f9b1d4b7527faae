import { aPipeline, type BuiltPipeline, type PipelineOverrides } from './builders.js'
import { aDatabase, type TestDatabase } from './database.js'
import { waitFor } from './wait.js'

/** A source, a mart whose every write is counted, and a pipeline between them. */
export interface CountedMart {
  /** The main database: meta store and source. */
  readonly main: TestDatabase
  /** The database of the mart; another database with `warehouse`. */
  readonly target: TestDatabase
  readonly pipeline: BuiltPipeline
  /** The settings of a runner, besides DATABASE_URL. */
  readonly env: Record<string, string>
}

export interface CountedOptions {
  readonly rows?: number
  /** The mart is in its own database, reached by a named connection. */
  readonly warehouse?: boolean
  /** The planner uses an index although the table is small, so that each batch reads its own rows. */
  readonly paged?: boolean
  /** Rows that are in the mart before counting starts: the first ones with old values. */
  readonly stale?: number
  /** Rows in the mart that the source does not have. */
  readonly gone?: number
  readonly pipeline?: PipelineOverrides
}

export const ITEMS = 'SELECT id, name, amount, modified FROM content.item'
/** Cannot be read in parts: it is computed once and applied in batches. */
export const ITEM_TOTALS =
  'SELECT i.id, i.name, sum(l.amount) AS amount, max(i.modified) AS modified FROM content.item i JOIN content.line l ON l.item_id = i.id GROUP BY i.id, i.name'

export async function aCountedMart(options: CountedOptions = {}): Promise<CountedMart> {
  const main = await aDatabase()
  const target = options.warehouse ? await aDatabase({ migrated: false }) : main
  return countedMartIn(main, target, options)
}

export async function countedMartIn(
  main: TestDatabase,
  target: TestDatabase,
  options: CountedOptions,
): Promise<CountedMart> {
  await createSource(main, options.rows ?? 300)
  if (options.paged) await preferIndexes(main)
  await createMart(target, options)
  const pipeline = await aPipeline(main, {
    sourceQuery: ITEMS,
    targetTable: 'analytics.mart',
    targetConnection: options.warehouse ? 'warehouse' : null,
    keyColumns: ['id'],
    batchSize: 60,
    ...options.pipeline,
  })
  const env: Record<string, string> = options.warehouse
    ? { VITRINA_CONNECTION_WAREHOUSE_URL: target.url }
    : {}
  return { main, target, pipeline, env }
}

async function createSource(main: TestDatabase, rows: number): Promise<void> {
  await main.query(`
    CREATE SCHEMA IF NOT EXISTS content;
    CREATE TABLE content.item (
      id integer PRIMARY KEY, name text NOT NULL, amount numeric NOT NULL,
      seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE, modified timestamptz NOT NULL DEFAULT now());
    CREATE TABLE content.line (item_id integer NOT NULL REFERENCES content.item, amount numeric NOT NULL);
    CREATE UNIQUE INDEX ON content.item (modified, id);
    INSERT INTO content.item (id, name, amount, modified)
    SELECT n, repeat('name of ' || n || ' ', 20), n * 1.5, now() - interval '1 day' + n / 7 * interval '1 second'
      FROM generate_series(1, ${rows}) AS n;
    INSERT INTO content.line SELECT id, amount / 2 FROM content.item, generate_series(1, 2);
    GRANT USAGE ON SCHEMA content TO vitrina_reader;
    GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_reader;
    ANALYZE content.item; ANALYZE content.line`)
}

async function preferIndexes(main: TestDatabase): Promise<void> {
  const name = new URL(main.url).pathname.slice(1)
  for (const setting of ['enable_sort', 'enable_seqscan', 'enable_bitmapscan'])
    await main.query(`ALTER DATABASE ${name} SET ${setting} = off`)
}

async function createMart(target: TestDatabase, { stale = 0, gone = 0 }: CountedOptions): Promise<void> {
  await target.query(`
    CREATE SCHEMA IF NOT EXISTS analytics;
    CREATE TABLE analytics.mart (id integer PRIMARY KEY, name text, amount numeric, modified timestamptz);
    INSERT INTO analytics.mart SELECT n, 'old', 0, 'epoch' FROM generate_series(1, ${stale}) AS n;
    INSERT INTO analytics.mart SELECT -n, 'gone', 0, 'epoch' FROM generate_series(1, ${gone}) AS n`)
  await countWrites(target, 'analytics.mart')
}

/** A trigger that records the key of every inserted, updated or deleted row. */
export async function countWrites(target: TestDatabase, mart: string, key = 'id'): Promise<void> {
  await target.query(`
    CREATE TABLE IF NOT EXISTS public.writes (mart text, key text, operation text);
    CREATE OR REPLACE FUNCTION public.count_write() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
      INSERT INTO public.writes VALUES (TG_ARGV[0], to_jsonb(coalesce(NEW, OLD)) ->> TG_ARGV[1], TG_OP);
      RETURN NULL;
    END $$;
    CREATE TRIGGER count_write AFTER INSERT OR UPDATE OR DELETE ON ${mart}
      FOR EACH ROW EXECUTE FUNCTION public.count_write('${mart}', '${key}')`)
}

export interface Writes {
  readonly writes: number
  readonly keys: number
}

/** If both are equal, no row was written twice. */
export async function writesOf({ target }: CountedMart): Promise<Writes> {
  const [row] = await target.query<{ writes: number; keys: number }>(
    'SELECT count(*)::int AS writes, count(DISTINCT key)::int AS keys FROM public.writes',
  )
  return row!
}

export async function forgetWrites({ target }: CountedMart): Promise<void> {
  await target.query('TRUNCATE public.writes')
}

/** One value for everything a query returns, down to the last digit. */
export async function signature(database: TestDatabase, query: string): Promise<string> {
  const [row] = await database.query<{ signature: string }>(
    `SELECT count(*) || ' ' || md5(coalesce(string_agg(r::text, E'\\n' ORDER BY id), '')) AS signature FROM (${query}) AS r`,
  )
  return row!.signature
}

const MART = 'SELECT id, name, amount, modified FROM analytics.mart'

/** Source and mart, each as one value: they are equal if nothing was lost, doubled or changed. */
export async function signatures({
  main,
  target,
  pipeline,
}: CountedMart): Promise<{ source: string; mart: string }> {
  return {
    source: await signature(main, pipeline.spec.sourceQuery ?? ''),
    mart: await signature(target, MART),
  }
}

export interface LockedRow {
  /** Resolves when a batch of the run has reached the row and waits. */
  waitForBatch(): Promise<void>
  release(): Promise<void>
}

/** Locks the row of the mart with this key: the batch that writes it waits until `release`. */
export async function holdRow({ target }: CountedMart, id: number): Promise<LockedRow> {
  const holder = await target.client()
  await holder.query('BEGIN')
  const { rowCount } = await holder.query('SELECT FROM analytics.mart WHERE id = $1 FOR UPDATE', [id])
  if (rowCount !== 1) throw new Error(`the mart has no row ${id} to hold`)
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
    AND starts_with(application_name, 'vitrina-run ')`
  return {
    waitForBatch: async () => {
      await waitFor(async () => (await target.query(waiting)).length > 0, {
        what: `a batch to wait for row ${id}`,
      })
    },
    release: async () => {
      await holder.query('COMMIT')
    },
  }
}

/** The sessions with which a run reads and writes, in the database of the mart. */
export async function runSessions({ target }: CountedMart): Promise<number> {
  const sessions = await target.query(
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND starts_with(application_name, 'vitrina-run ')",
  )
  return sessions.length
}
