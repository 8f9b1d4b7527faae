import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Patch, patchedBy } from '../stress/patches.js'
import { aPipeline, type BuiltPipeline, type PipelineOverrides } from '../support/builders.js'
import type { TestDatabase } from '../support/database.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { aSparkFolder, profileWithoutCluster, type SparkCluster, sparkEnvironment } from '../support/spark.js'
import { waitFor } from '../support/wait.js'

/** 2 million unless set. */
export const ROWS = Number(process.env.VITRINA_TEST_SPARK_ROWS || 2_000_000)
export const PARTS = 16
/** A part of the largest table may take this long on a busy machine. */
export const TIMEOUT_MS = 900_000

/** Some ten microseconds of CPU time for each row, besides reading and writing it. */
const HEAVY = `
from vitrina import task
import hashlib, time

@task("heavy", adds={"digest": "text", "words": "integer"})
def heavy(rows):
    made = []
    for row in rows:
        digest = row["title"].encode()
        for _ in range(8):
            digest = hashlib.sha256(digest).digest()
        made.append({**row, "title": row["title"].strip().upper(), "digest": digest.hex()[:32], "words": len(row["title"].split())})
    return made

@task("slow")
def slow(rows):
    time.sleep(0.5)
    return rows
`

export async function someTaskFiles(files: Record<string, string> = {}): Promise<string> {
  const folder = aSparkFolder()
  for (const [name, text] of Object.entries({ 'heavy.py': HEAVY, ...files }))
    await writeFile(join(folder, name), text)
  return folder
}

export async function aSource(main: TestDatabase, rows: number): Promise<void> {
  await main.query(`
    CREATE SCHEMA IF NOT EXISTS content;
    CREATE TABLE content.view AS
      SELECT n::bigint AS id, n % 5000 AS user_id, ' Film number ' || n % 977 || ' of the year ' || 1900 + n % 120 AS title,
             (n % 7200) / 60.0 AS minutes, 'epoch'::timestamptz + n * interval '13.000007 seconds' AS watched
        FROM generate_series(1, ${rows}) AS n;
    ALTER TABLE content.view ADD PRIMARY KEY (id);
    GRANT USAGE ON SCHEMA content TO vitrina_reader;
    GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_reader;
    ANALYZE content.view`)
}

const VIEWS = 'SELECT id, user_id, title, minutes, watched FROM content.view'

/** A pipeline whose every written row is counted, and its mart, which is empty. */
export interface HeavyMart {
  readonly target: TestDatabase
  readonly table: string
  readonly pipeline: BuiltPipeline
}

let made = 0

export async function aHeavyMart(
  main: TestDatabase,
  target: TestDatabase,
  overrides: PipelineOverrides = {},
): Promise<HeavyMart> {
  made += 1
  const table = `analytics.heavy_${made}`
  await target.query(`
    CREATE SCHEMA IF NOT EXISTS analytics;
    CREATE TABLE ${table} (id bigint PRIMARY KEY, user_id integer, title text, minutes numeric, watched timestamptz, digest text, words integer);
    CREATE TABLE IF NOT EXISTS public.writes (mart text, rows bigint);
    CREATE OR REPLACE FUNCTION public.count_writes() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
      INSERT INTO public.writes SELECT TG_ARGV[0], count(*) FROM written;
      RETURN NULL;
    END $$;
    CREATE TRIGGER count_inserts AFTER INSERT ON ${table} REFERENCING NEW TABLE AS written
      FOR EACH STATEMENT EXECUTE FUNCTION public.count_writes('${table}');
    CREATE TRIGGER count_updates AFTER UPDATE ON ${table} REFERENCING NEW TABLE AS written
      FOR EACH STATEMENT EXECUTE FUNCTION public.count_writes('${table}');
    CREATE TRIGGER count_deletes AFTER DELETE ON ${table} REFERENCING OLD TABLE AS written
      FOR EACH STATEMENT EXECUTE FUNCTION public.count_writes('${table}')`)
  const pipeline = await aPipeline(main, {
    type: 'PYTHON',
    sourceQuery: VIEWS,
    targetTable: table,
    targetConnection: target === main ? null : 'warehouse',
    keyColumns: ['id'],
    parallelism: PARTS,
    engine: 'spark',
    tasks: [
      { taskType: 'SQL', body: VIEWS },
      { taskType: 'PYTHON', body: 'heavy' },
    ],
    ...overrides,
  })
  return { target, table, pipeline }
}

export interface RunnerOptions {
  /** Null: the driver executes the parts itself. */
  readonly cluster: SparkCluster | null
  readonly tasks: string
  readonly conf?: Record<string, string>
  readonly env?: Record<string, string>
  readonly patches?: readonly Patch[]
}

export function aSparkRunner(main: TestDatabase, options: RunnerOptions): SpawnedVitrina {
  const { cluster, tasks, conf = {}, env = {}, patches = [] } = options
  return spawnVitrina(['runner'], {
    DATABASE_URL: main.url,
    SPARK_PROFILES: JSON.stringify({ cluster: cluster?.profile(conf) ?? profileWithoutCluster(conf) }),
    VITRINA_PYTHON_TASKS: tasks,
    RUNNER_LEASE_SECONDS: '5',
    RUNNER_POLL_INTERVAL_MS: '200',
    LOG_FORMAT: 'json',
    ...sparkEnvironment(),
    ...patchedBy(patches),
    ...env,
  })
}

export interface Part {
  readonly part: number
  readonly status: string
  readonly owner: string | null
  readonly attempts: number
  readonly rows: number
  readonly finished_at: string | null
}

export function partsOf(main: TestDatabase, runId: string): Promise<Part[]> {
  return main.query<Part & Record<string, unknown>>(
    'SELECT part, status, owner, attempts, rows::int, finished_at::text FROM etl.etl_run_parts WHERE run_id = $1 ORDER BY part',
    [runId],
  )
}

export async function doneParts(main: TestDatabase, runId: string): Promise<Part[]> {
  return (await partsOf(main, runId)).filter(({ status }) => status === 'DONE')
}

/** Waits until so many parts are committed, and answers those. */
export function whenDone(main: TestDatabase, runId: string, count: number): Promise<Part[]> {
  return waitFor(
    async () => {
      const done = await doneParts(main, runId)
      return done.length >= count && done
    },
    { what: `${count} parts to be committed`, timeoutMs: TIMEOUT_MS },
  )
}

export async function writesOf({ target, table }: HeavyMart): Promise<number> {
  const [row] = await target.query<{ rows: number }>(
    'SELECT coalesce(sum(rows), 0)::int AS rows FROM public.writes WHERE mart = $1',
    [table],
  )
  return row!.rows
}

/** One value for all rows of a table, down to the last digit. */
export async function contentOf(database: TestDatabase, table: string): Promise<string> {
  const [row] = await database.query<{ content: string }>(
    `SELECT count(*) || ' ' || sum(hashtextextended(t::text, 1)::numeric) || ' ' || sum(hashtextextended(t::text, 2)::numeric) AS content FROM ${table} AS t`,
  )
  return row!.content
}
