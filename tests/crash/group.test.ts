import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { GROUP_FAILPOINTS } from '../../src/model/failpoints.js'
import type { PipelineSpec } from '../../src/model/pipeline.js'
import { aPipeline, type PipelineOverrides } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { isStopped } from '../support/proc.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { aRunner } from '../support/runner.js'
import { requestRun } from '../support/runs.js'
import { ALL_CASES, sampleOf } from '../support/sample.js'
import { someTasks, taskSettings } from '../support/tasks.js'
import { waitFor } from '../support/wait.js'

const ENV = {
  ALLOWED_SOURCE_SCHEMAS: 'content,analytics',
  RUNNER_LEASE_SECONDS: '1',
  RUNNER_POLL_INTERVAL_MS: '50',
}
const ACCOUNTS = 200

/** `rows` has every account, `totals` sums them, `summary` sums what the mart `rows` has. */
const MARTS = {
  rows: {
    reads: ['content.account'],
    spec: { sourceQuery: 'SELECT id, amount, moves FROM content.account', keyColumns: ['id'] },
  },
  totals: {
    reads: ['content.account'],
    spec: {
      sourceQuery:
        'SELECT id % 10 AS part, sum(amount) AS amount, sum(moves) AS moves FROM content.account GROUP BY 1',
      keyColumns: ['part'],
      fullStrategy: 'replace',
    },
  },
  summary: {
    reads: ['analytics.rows', 'content.account'],
    spec: {
      sourceQuery:
        'SELECT 1 AS id, (SELECT sum(moves) FROM analytics.rows) AS moves, (SELECT sum(moves) FROM content.account) AS source_moves',
      keyColumns: ['id'],
      fullStrategy: 'replace',
    },
  },
} as const satisfies Record<string, { reads: readonly string[]; spec: Partial<PipelineSpec> }>
type Mart = keyof typeof MARTS

/** Rows that contradict each other; none: the marts show one state of the source. */
const CONTRADICTIONS = `
  SELECT 'totals' AS mart, t.part, t.moves, r.moves AS others FROM analytics.totals t
    FULL JOIN (SELECT id % 10 AS part, sum(amount) AS amount, sum(moves) AS moves FROM analytics.rows GROUP BY 1) r USING (part)
   WHERE (t.amount, t.moves) IS DISTINCT FROM (r.amount, r.moves)
  UNION ALL
  SELECT 'summary', 0, s.moves, r.moves FROM (SELECT sum(moves) AS moves FROM analytics.rows) r FULL JOIN analytics.summary s ON true
   WHERE s.moves IS DISTINCT FROM r.moves OR s.source_moves IS DISTINCT FROM r.moves`

interface Group {
  readonly database: TestDatabase
  readonly ids: Record<Mart, string>
}

async function aGroup(
  overrides: Partial<Record<Mart, PipelineOverrides>> = {},
  consistency: PipelineSpec['consistency'] = 'group',
): Promise<Group> {
  const database = await aDatabase()
  await database.query(`
    CREATE SCHEMA IF NOT EXISTS content; CREATE SCHEMA IF NOT EXISTS analytics;
    CREATE TABLE content.account (id int PRIMARY KEY, amount bigint NOT NULL, moves bigint NOT NULL);
    INSERT INTO content.account SELECT i, 1000, 0 FROM generate_series(1, ${ACCOUNTS}) i;
    GRANT USAGE ON SCHEMA content TO vitrina_writer; GRANT USAGE, CREATE ON SCHEMA analytics TO vitrina_writer;
    GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_writer`)
  const ids: Record<string, string> = {}
  for (const [name, { spec, reads }] of Object.entries(MARTS)) {
    const targetTable = `analytics.${name}`
    const { id } = await aPipeline(database, {
      ...{ name, targetTable, consistency, batchSize: name === 'rows' ? 60 : null },
      ...spec,
      ...overrides[name as Mart],
    })
    ids[name] = id
    const parts = reads.map((table) => table.split('.'))
    await database.query('SELECT etl.note_reads($1, ARRAY[NULL], $2, $3, true)', [
      ...[id, parts.map(([schema]) => schema), parts.map(([, table]) => table)],
    ])
  }
  return { database, ids: ids as Record<Mart, string> }
}

/** Moves an amount between two accounts, and counts the move. */
async function move({ database }: Group): Promise<void> {
  await database.query(
    `UPDATE content.account SET moves = moves + 1,
            amount = amount + CASE WHEN id = (SELECT min(x) FROM unnest($1::int[]) x) THEN 1 ELSE -1 END WHERE id = ANY ($1::int[])`,
    [[1 + Math.floor(Math.random() * ACCOUNTS), 1 + Math.floor(Math.random() * ACCOUNTS)]],
  )
}

function spawned({ database }: Group, more: Record<string, string> = {}): SpawnedVitrina {
  return spawnVitrina(['runner'], { DATABASE_URL: database.url, ...ENV, ...more })
}

/** Every pipeline has ended, and nothing is due. */
function quiet({ database }: Group): Promise<unknown> {
  return waitFor(
    async () => {
      const [row] = await database.query<{ busy: number }>(
        "SELECT ((SELECT count(*) FROM etl.etl_due) + (SELECT count(*) FROM etl.etl_pipelines WHERE status NOT IN ('IDLE', 'FAILED', 'PAUSED')))::int AS busy",
      )
      return row!.busy === 0
    },
    { what: 'every run to end', timeoutMs: 60_000 },
  )
}

async function refresh(group: Group, which: Mart = 'rows'): Promise<void> {
  await requestRun(group.database, group.ids[which])
  await quiet(group)
}

const contradictions = ({ database }: Group) => database.query(CONTRADICTIONS)

async function runsOf({ database }: Group) {
  return database.query<{
    name: string
    status: string
    together: boolean
    error_code: string | null
    error: string | null
  }>(
    `SELECT p.name, r.status, r.group_run IS NOT NULL AS together, r.error_code, r.error FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id
      ORDER BY r.requested_at, p.name`,
  )
}

/** Joins the marts again and again until it is stopped; returns how often, and what contradicted. */
function aReader(group: Group) {
  let stops = false
  let reads = 0
  const found: unknown[] = []
  const ended = (async () => {
    const client = await group.database.client()
    while (!stops) {
      const { rows } = await client.query(CONTRADICTIONS)
      reads += 1
      found.push(...rows)
      // The time between two commits is longer, and the runners need the CPU.
      await delay(5)
    }
  })()
  return {
    found,
    stop: async () => {
      stops = true
      await ended
      return { reads, violations: found.length }
    },
  }
}

function aWriter(group: Group) {
  let stops = false
  const ended = (async () => {
    while (!stops) {
      await move(group)
      await delay(5)
    }
  })()
  return async () => {
    stops = true
    await ended
  }
}

const EACH = ['rows', 'summary', 'totals'] as const

const outcomes = async (group: Group) =>
  (await runsOf(group)).map(
    ({ name, status, together, error }) =>
      `${name} ${status}${together ? ' together' : ''}${error === null ? '' : `: ${error}`}`,
  )

describe('a group', () => {
  it('is computed in one snapshot: a mart that reads another one has its new rows', {
    timeout: 180_000,
  }, async () => {
    const group = await aGroup()
    await aRunner(group.database, { env: ENV })
    await refresh(group)
    const stop = aWriter(group)
    const reader = aReader(group)
    for (const which of EACH) await refresh(group, which)
    await stop()
    const { reads, violations } = await reader.stop()
    expect({ violations, hasRead: reads > 0 }).toEqual({ violations: 0, hasRead: true })
    expect((await outcomes(group)).toSorted()).toEqual(
      EACH.flatMap((name) => Array.from({ length: 4 }, () => `${name} SUCCESS together`)),
    )
    // The last refresh has read the last moves.
    await refresh(group)
    const [last] = await group.database.query(
      'SELECT (SELECT sum(moves) FROM content.account) = moves AS same FROM analytics.summary',
    )
    expect(last).toEqual({ same: true })
  })

  it.each([
    ['upserts with a sweep', { rows: { deletes: 'sweep' } }],
    [
      'incremental pipelines',
      { rows: { mode: 'incremental', incrementalKey: 'moves', incrementalIdKey: 'id' } },
    ],
    [
      'incremental pipelines that sweep',
      { totals: { mode: 'incremental', capture: 'xmin', fullStrategy: 'upsert', deletes: 'sweep' } },
    ],
  ] as const)('computes every row of %s', { timeout: 120_000 }, async (_, overrides) => {
    const group = await aGroup(overrides as Parameters<typeof aGroup>[0])
    await aRunner(group.database, { env: ENV })
    await refresh(group)
    for (let n = 0; n < 20; n++) await move(group)
    await refresh(group)
    expect(await contradictions(group)).toEqual([])
    expect(new Set(await outcomes(group))).toEqual(new Set(EACH.map((name) => `${name} SUCCESS together`)))
  })

  it('leaves every mart as it was if a check of one member fails, and names it', {
    timeout: 120_000,
  }, async () => {
    const group = await aGroup({
      summary: {
        checks: [{ name: 'few_moves', type: 'range', column: 'moves', max: 5, on_failure: 'fail' }],
      },
    })
    await aRunner(group.database, { env: ENV })
    await refresh(group)
    const before = await group.database.query('SELECT * FROM analytics.rows ORDER BY id')
    for (let n = 0; n < 20; n++) await move(group)
    await refresh(group)
    expect(await group.database.query('SELECT * FROM analytics.rows ORDER BY id')).toEqual(before)
    expect(await contradictions(group)).toEqual([])
    const failed = (await runsOf(group)).filter(({ status }) => status === 'FAILED')
    expect(failed.map(({ name, error_code }) => `${name} ${error_code}`).toSorted()).toEqual([
      'rows VTR-5008',
      'summary VTR-4103',
      'totals VTR-5008',
    ])
    const [reason] = await group.database.query(
      "SELECT error FROM etl.etl_runs WHERE error_code = 'VTR-5008' LIMIT 1",
    )
    expect(reason).toMatchObject({ error: expect.stringContaining('"summary"') })
    // The checkpoints have not moved: the next run computes all of them.
    await group.database.query("UPDATE etl.etl_pipelines SET checks = '[]' WHERE name = 'summary'")
    await refresh(group, 'totals')
    expect(await contradictions(group)).toEqual([])
    expect((await group.database.query('SELECT moves > 5 AS new FROM analytics.summary'))[0]).toEqual({
      new: true,
    })
  })

  it('leaves every mart as it was if the delete brake stops one member', { timeout: 120_000 }, async () => {
    const group = await aGroup({ rows: { deletes: 'sweep' } })
    await aRunner(group.database, { env: ENV })
    await refresh(group)
    await group.database.query('DELETE FROM content.account WHERE id > 20')
    await refresh(group)
    const [count] = await group.database.query<{ n: number }>('SELECT count(*)::int AS n FROM analytics.rows')
    expect(count).toEqual({ n: ACCOUNTS })
    expect(await contradictions(group)).toEqual([])
    expect((await runsOf(group)).filter(({ status }) => status === 'FAILED')).toHaveLength(3)
  })

  it('is paused as a whole, and continues when one of them is requested', { timeout: 120_000 }, async () => {
    const group = await aGroup()
    await aRunner(group.database, { env: ENV })
    await refresh(group)
    const lock = await group.database.client()
    await lock.query('BEGIN; LOCK TABLE analytics.totals IN SHARE MODE')
    for (let n = 0; n < 5; n++) await move(group)
    await requestRun(group.database, group.ids.rows)
    await waitFor(
      async () =>
        (
          await group.database.query(
            "SELECT FROM pg_locks WHERE NOT granted AND relation = 'analytics.totals'::regclass",
          )
        ).length > 0,
      { what: 'the group to wait for the lock' },
    )
    await group.database.query(
      "UPDATE etl.etl_pipelines SET status = 'PAUSE_REQUESTED' WHERE name = 'summary'",
    )
    await lock.query('ROLLBACK')
    await quiet(group)
    expect(await group.database.query('SELECT DISTINCT status FROM etl.etl_pipelines')).toEqual([
      { status: 'PAUSED' },
    ])
    expect((await group.database.query('SELECT moves FROM analytics.summary'))[0]).toMatchObject({
      moves: '0',
    })
    await refresh(group, 'rows')
    expect(await group.database.query('SELECT DISTINCT status FROM etl.etl_pipelines')).toEqual([
      { status: 'IDLE' },
    ])
    expect(await contradictions(group)).toEqual([])
  })
})

describe('the members of a group read one snapshot', () => {
  it.each([
    ['of another database', { sourceConnection: 'elsewhere' }],
    ['and write to another database', { targetConnection: 'elsewhere' }],
    ['row by row', {}],
  ] as const)('%s', { timeout: 120_000 }, async (how, connections) => {
    const [main, other] = [await aGroup(), await aDatabase({ migrated: false })]
    const isTarget = 'targetConnection' in connections
    await main.database.query("DELETE FROM etl.etl_pipelines WHERE name = 'summary'")
    for (const [name, value] of Object.entries(connections))
      await main.database.query(
        `UPDATE etl.etl_pipelines SET ${name === 'sourceConnection' ? 'source' : 'target'}_connection = $1`,
        [value],
      )
    await other.query(`
      CREATE SCHEMA content; CREATE SCHEMA analytics;
      CREATE TABLE content.account (id int PRIMARY KEY, amount bigint NOT NULL, moves bigint NOT NULL);
      INSERT INTO content.account SELECT i, 1000, 0 FROM generate_series(1, ${ACCOUNTS}) i`)
    await main.database.query(
      'GRANT USAGE ON SCHEMA content TO vitrina_reader; GRANT SELECT ON content.account TO vitrina_reader',
    )
    await aRunner(main.database, {
      env: { ...ENV, VITRINA_CONNECTION_ELSEWHERE_URL: other.url },
      ...(how === 'row by row' ? { way: 'rows' as const } : {}),
    })
    const source = 'sourceConnection' in connections ? other : main.database
    const marts = isTarget ? other : main.database
    await refresh(main)
    const stop = aWriter({ ...main, database: source })
    let found: unknown[] = []
    for (let n = 0; n < 5; n++) {
      await refresh(main, n % 2 === 0 ? 'rows' : 'totals')
      found = [...found, ...(await marts.query(CONTRADICTIONS.split('UNION ALL')[0]!))]
    }
    await stop()
    expect(found).toEqual([])
    expect(new Set(await outcomes(main))).toEqual(
      new Set(['rows SUCCESS together', 'totals SUCCESS together']),
    )
    const [moved] = await marts.query('SELECT sum(moves) > 0 AS moved FROM analytics.rows')
    expect(moved).toEqual({ moved: true })
  })
})

/** Without its transform, each member would contradict the other. */
const TRANSFORMS = {
  'python/accounts.py': `from vitrina import task

@task("turn_accounts")
def turn_accounts(rows):
    if any(row["moves"] == 1_000_000 for row in rows):
        raise ValueError("too many moves")
    return [{**row, "amount": -row["amount"]} for row in rows]
`,
  'typescript/totals.ts': `import { task, type Row } from 'vitrina'
task('turn_totals', (rows: Row[]) => rows.map((row) => ({ ...row, amount: -Number(row.amount) })))
`,
}

/** `rows` is computed by Python, `totals` by TypeScript, and `summary` in the database from the mart `rows`. */
async function aTransformedGroup() {
  const { folder } = await someTasks(TRANSFORMS)
  const member = (name: Mart, query: string, transform: string): PipelineOverrides => ({
    ...{ type: 'PYTHON', fullStrategy: 'upsert' },
    tasks: [
      { taskType: 'SQL', body: query },
      { taskType: 'PYTHON', body: transform, targetTable: `analytics.${name}` },
    ],
  })
  const group = await aGroup({
    rows: member('rows', 'SELECT id, -amount AS amount, moves FROM content.account', 'turn_accounts'),
    totals: member(
      'totals',
      'SELECT id % 10 AS part, -sum(amount)::bigint AS amount, sum(moves)::bigint AS moves FROM content.account GROUP BY 1',
      'turn_totals',
    ),
  })
  await group.database.query(
    'GRANT USAGE ON SCHEMA content TO vitrina_reader; GRANT SELECT ON content.account TO vitrina_reader',
  )
  // A runner that starts processes for functions on a busy machine must not lose its lease each time.
  return { group, env: { ...ENV, ...taskSettings(folder), RUNNER_LEASE_SECONDS: '3' } }
}

describe('a group with members that Python and TypeScript compute', () => {
  it('shows one state of the source to readers, while runners are killed', { timeout: 300_000 }, async () => {
    const { group, env } = await aTransformedGroup()
    let runner = spawned(group, env)
    await refresh(group)
    const members = await group.database.query<{ members: number }>(
      'SELECT count(*)::int AS members FROM etl.etl_pipeline_groups GROUP BY head_id',
    )
    expect(members).toEqual([{ members: 3 }])
    const stopWriter = aWriter(group)
    const reader = aReader(group)
    for (let n = 1; n <= (ALL_CASES ? 6 : 4); n++) {
      await requestRun(group.database, group.ids[EACH[n % EACH.length]!])
      if (n % 2 === 0) {
        await delay(Math.random() * 500)
        runner.kill('SIGKILL')
        await runner.exited
        runner = spawned(group, env)
      }
      await quiet(group)
    }
    await stopWriter()
    await refresh(group)
    const { reads, violations } = await reader.stop()
    expect({ violations, hasRead: reads > 0 }).toEqual({ violations: 0, hasRead: true })
    expect(new Set(await outcomes(group))).toEqual(new Set(EACH.map((name) => `${name} SUCCESS together`)))
    const [last] = await group.database.query(
      'SELECT (SELECT sum(moves) FROM content.account) = moves AS same, (SELECT sum(amount) > 0 FROM analytics.rows) AS turned FROM analytics.summary',
    )
    expect(last).toEqual({ same: true, turned: true })
    runner.kill('SIGTERM')
    await runner.exited
  })

  it('leaves every mart as it was if a function raises an error', { timeout: 120_000 }, async () => {
    const { group, env } = await aTransformedGroup()
    await aRunner(group.database, { env, retryWaitsMs: [0] })
    await refresh(group)
    const marts = () =>
      group.database.query(
        "SELECT 'rows' AS mart, id, amount, moves FROM analytics.rows UNION ALL SELECT 'totals', part, amount, moves FROM analytics.totals ORDER BY 1, 2",
      )
    const before = await marts()
    await group.database.query('UPDATE content.account SET moves = CASE id WHEN 150 THEN 1000000 ELSE 1 END')
    await refresh(group, 'totals')
    expect(await marts()).toEqual(before)
    const errors = await group.database.query<{ name: string; error: string }>(
      "SELECT p.name, r.error FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id WHERE r.status = 'FAILED' ORDER BY 1",
    )
    expect(errors.map(({ name }) => name)).toEqual(['rows', 'summary', 'totals'])
    expect(errors[0]!.error).toContain('too many moves')
    for (const { error } of errors.slice(1)) expect(error).toContain('"rows"')
    await group.database.query('UPDATE content.account SET moves = 2')
    await refresh(group)
    expect(await contradictions(group)).toEqual([])
    expect((await group.database.query('SELECT moves FROM analytics.summary'))[0]).toEqual({
      moves: String(2 * ACCOUNTS),
    })
  })
})

const POINTS = [
  ...['run.claimed', 'fence.taken', 'run.prepared', ...GROUP_FAILPOINTS, 'checkpoint.moved', 'lease.renewed'],
  ...['batch.committed', 'run.finishing', 'run.finished'],
]
const CASES = POINTS.flatMap((point) => (['kill', 'freeze'] as const).map((how) => `${point}=${how}`))
const SAMPLE = sampleOf(CASES, { key: (one) => `group ${one}`, labels: (one) => [one.split('=')[0]!] })

describe('the next runner takes over the whole group of a runner that stops at', () => {
  it.each(SAMPLE)('%s', { timeout: 180_000 }, async (point) => {
    const group = await aGroup()
    const first = await aRunner(group.database, { env: ENV })
    await refresh(group)
    await first.stop()
    for (let n = 0; n < 20; n++) await move(group)
    await requestRun(group.database, group.ids.totals)
    const victim = spawned(group, { VITRINA_FAILPOINT: point })
    const isKilled = point.endsWith('kill')
    if (isKilled) expect(await victim.exited).toBe(137)
    else await waitFor(async () => isStopped(victim.pid), { what: 'the runner to freeze' })
    expect(await contradictions(group)).toEqual([])
    await aRunner(group.database, { env: { ...ENV, RUNNER_LEASE_SECONDS: '20' } })
    await quiet(group)
    expect(await contradictions(group)).toEqual([])
    if (!isKilled) {
      // It wakes up and believes that it still holds the group.
      for (let n = 0; n < 20; n++) await move(group)
      victim.kill('SIGCONT')
      await refresh(group)
      victim.kill('SIGTERM')
      await victim.exited
      expect(await contradictions(group)).toEqual([])
    }
    const runs = await outcomes(group)
    expect(new Set(runs)).toEqual(new Set(EACH.map((name) => `${name} SUCCESS together`)))
    expect(runs).toHaveLength(isKilled ? 6 : 9)
    const [rows] = await group.database.query<{ same: boolean }>(
      'SELECT (SELECT sum(moves) FROM content.account) = moves AS same FROM analytics.summary',
    )
    expect(rows).toEqual({ same: true })
  })
})

describe('readers that join the marts of a group', () => {
  const REFRESHES = Number(process.env.VITRINA_TEST_GROUP_REFRESHES ?? (ALL_CASES ? 500 : 8))

  /** Refreshes under writers, with a runner that is killed or frozen at a random moment of every second refresh. */
  async function violationsDuring(group: Group, refreshes: number) {
    const runners = [spawned(group), spawned(group)]
    for (const which of ['rows', 'totals', 'summary'] as const) await refresh(group, which)
    const stopWriter = aWriter(group)
    const readers = [aReader(group), aReader(group)]
    const frozen: SpawnedVitrina[] = []
    for (let n = 1; n <= refreshes; n++) {
      await requestRun(group.database, group.ids[EACH[n % EACH.length]!])
      if (n % 2 === 0) {
        // A random moment of the run, not a time that anything depends on.
        await delay(Math.random() * 250)
        const victim = runners.shift()!
        victim.kill(n % 8 === 0 ? 'SIGSTOP' : 'SIGKILL')
        if (n % 8 === 0) frozen.push(victim)
        else await victim.exited
        runners.push(spawned(group))
      }
      await quiet(group)
    }
    await stopWriter()
    const found = await Promise.all(readers.map((reader) => reader.stop()))
    for (const runner of frozen) runner.kill('SIGCONT')
    for (const runner of [...runners, ...frozen]) runner.kill('SIGTERM')
    await Promise.all([...runners, ...frozen].map((runner) => runner.exited))
    return {
      reads: found.reduce((sum, one) => sum + one.reads, 0),
      violations: found.reduce((sum, one) => sum + one.violations, 0),
    }
  }

  it(`see no contradiction during ${REFRESHES} refreshes with kills`, { timeout: 3_600_000 }, async () => {
    const group = await aGroup()
    const { reads, violations } = await violationsDuring(group, REFRESHES)
    console.log(`${REFRESHES} refreshes, ${reads} reads, ${violations} contradictions`)
    expect(violations).toBe(0)
    expect(reads).toBeGreaterThan(REFRESHES)
    await group.database.drop()
  })

  it('see contradictions if the same marts are published one by one', { timeout: 600_000 }, async () => {
    const group = await aGroup({}, 'none')
    const { violations } = await violationsDuring(group, 3)
    expect(violations).toBeGreaterThan(0)
    await group.database.drop()
  })
})
