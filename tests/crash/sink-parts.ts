import { randomBytes } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type Patch, patchedBy } from '../stress/patches.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { isStopped } from '../support/proc.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { aRunner } from '../support/runner.js'
import { requestRun, run, runEnded, type StoredRun } from '../support/runs.js'
import { inTurn, sampleOf } from '../support/sample.js'
import type { SeenRow, SinkServer } from '../support/sink-servers.js'
import { waitFor } from '../support/wait.js'

const ROWS = 400
const PARTS = 4
const WAYS = {
  upsert: { fullStrategy: 'upsert', deletes: 'sweep' },
  replace: { fullStrategy: 'replace' },
} as const
type Way = keyof typeof WAYS
type How = 'kill' | 'freeze'

interface Struck {
  readonly way: Way
  readonly how: How
  readonly point: string
}

/** Points that every runner passes in a part. */
const IN_A_PART = ['part.claimed', 'part.read', 'part.sent', 'part.written', 'part.committed'] as const
/** Points of the holder of the run: in its parts, and where it begins and ends them. */
const OF_THE_HOLDER: readonly string[] = [
  ...(['part.claimed@3', 'part.read@2', 'part.sent@3', 'part.written@2', 'part.committed@2'] as const),
  ...(['parts.finishing@1', 'batch.written@1', 'checkpoint.moved@1', 'batch.committed@1'] as const),
  // Without a replacement, the first batch stores where the next run finds the parts, and the second ends them.
  ...(['batch.written@2', 'checkpoint.moved@2', 'batch.committed@2'] as const),
]
/** Of the points of each kind that one sink tests in `npm test`. */
const SHARE = 2

/** A mart behind a sink, and a pipeline that fills it in parts. */
export class SinkMart {
  readonly main: TestDatabase
  readonly server: SinkServer
  readonly id: string
  readonly name: string

  constructor(parts: { main: TestDatabase; server: SinkServer; id: string; name: string }) {
    this.main = parts.main
    this.server = parts.server
    this.id = parts.id
    this.name = parts.name
  }

  static async create(server: SinkServer, way: Way): Promise<SinkMart> {
    const main = await aDatabase()
    await main.query(`
      CREATE SCHEMA IF NOT EXISTS content;
      CREATE TABLE content.thing (id bigint PRIMARY KEY, title text, n integer);
      INSERT INTO content.thing SELECT g, 'first', g % 7 FROM generate_series(1, ${ROWS}) AS g;
      GRANT USAGE ON SCHEMA content TO PUBLIC; GRANT SELECT ON content.thing TO PUBLIC; ANALYZE content.thing`)
    const name = `m_${randomBytes(4).toString('hex')}`
    const { id } = await aPipeline(main, {
      sourceQuery: 'SELECT id, title, n FROM content.thing',
      targetTable: server.target(name),
      targetOptions: server.options ?? {},
      keyColumns: ['id'],
      parallelism: PARTS,
      deleteBrake: 1,
      ...WAYS[way],
    })
    return new SinkMart({ main, server, id, name })
  }

  runner(env: Record<string, string> = {}): SpawnedVitrina {
    const runner = spawnVitrina(['runner'], {
      DATABASE_URL: this.main.url,
      ...this.server.env,
      RUNNER_CONCURRENCY: '1',
      RUNNER_LEASE_SECONDS: '2',
      RUNNER_POLL_INTERVAL_MS: '100',
      ...env,
    })
    onTestFinished(() => void runner.kill('SIGCONT'))
    return runner
  }

  /** What a runner that froze has read is older than this. */
  async change(title: string): Promise<void> {
    await this.main.query(`
      UPDATE content.thing SET title = '${title}', n = n + 1;
      DELETE FROM content.thing WHERE id % 40 = 1;
      INSERT INTO content.thing SELECT max(id) + 1, '${title}', 0 FROM content.thing`)
  }

  async expectEqual(): Promise<void> {
    const expected = await this.main.query<SeenRow & Record<string, unknown>>(
      'SELECT t.id::text AS id, title, n::text AS n FROM content.thing AS t ORDER BY t.id',
    )
    const seen = (await this.server.read(this.main, this.name)) ?? []
    expect([...seen].sort((a, b) => Number(a.id) - Number(b.id))).toEqual(expected)
  }

  async partsOf(runId: string): Promise<{ status: string; attempts: number }[]> {
    return this.main.query<{ status: string; attempts: number }>(
      'SELECT status, attempts FROM etl.etl_run_parts WHERE run_id = $1 ORDER BY part',
      [runId],
    )
  }
}

export async function struck(victim: SpawnedVitrina, how: How): Promise<void> {
  let isDead = false
  void victim.exited.then(() => {
    isDead = true
  })
  await waitFor(async () => (how === 'kill' ? isDead : isStopped(victim.pid)), {
    what: `a runner to be struck:\n${victim.stderr}`,
  })
}

/** Woken, it finds that the part is not its own any more, and stops in good order. */
async function woken(victim: SpawnedVitrina): Promise<void> {
  victim.kill('SIGCONT')
  victim.kill('SIGTERM')
  expect(await victim.exited).toBe(0)
}

/**
 * The holder of a run is stopped before its first part, so that a second runner takes others. Its lease outlasts a
 * second runner that starts slowly: the holder is woken when that one was struck, and is never to lose the run.
 */
async function helped(mart: SinkMart, env: Record<string, string>) {
  const runId = await requestRun(mart.main, mart.id)
  const owner = mart.runner({ VITRINA_FAILPOINT: 'part.claimed@1=freeze', RUNNER_LEASE_SECONDS: '600' })
  await struck(owner, 'freeze')
  return { runId, owner, helper: mart.runner(env) }
}

const NO_ERROR = { status: 'SUCCESS', error: null }

interface Suite {
  readonly name: string
  /** In `npm test` the sinks share the points: the number of this one, from 0. */
  readonly place: number
  /** Or why it is not available: then every test is skipped with that reason. */
  start(): Promise<SinkServer | { readonly missing: string }>
}

/** Runners that are struck while they write parts of one run, on a real server. */
export function sinkPartsSuite({ name, place, start }: Suite): void {
  describe(`parts of a run into ${name}`, () => {
    let found: SinkServer | { readonly missing: string }
    const server = () => found as SinkServer
    beforeAll(async () => {
      found = await start()
    }, 300_000)
    beforeEach((context) => {
      if ('missing' in found) context.skip(found.missing)
    })

    const ways = Object.keys(WAYS) as Way[]
    const both = ['kill', 'freeze'] as const
    const helpers = ways.flatMap((way) =>
      both.flatMap((how) => inTurn(IN_A_PART, place * SHARE, SHARE).map((point) => ({ way, how, point }))),
    )
    const key = (one: Struck) => `${name} ${JSON.stringify(one)}`
    const some = sampleOf<Struck>(helpers, {
      key,
      labels: ({ way, how, point }) => [point, how, way],
    })

    it.each(some)('lose one of them if a second runner is struck: $how at $point, $way', async (one) => {
      const mart = await SinkMart.create(server(), one.way)
      const { runId, owner, helper } = await helped(mart, { VITRINA_FAILPOINT: `${one.point}@1=${one.how}` })
      await struck(helper, one.how)
      owner.kill('SIGCONT')
      const first = await runEnded(mart.main, runId)
      // One attempt: the run was never taken over.
      const whole = { ...NO_ERROR, attempt: 1, parts_total: PARTS, parts_done: PARTS, rows_read: ROWS }
      expect(first).toMatchObject(whole)
      await mart.expectEqual()
      if (one.how === 'kill') return
      await mart.change('second')
      expect(await run(mart.main, mart.id)).toMatchObject({ ...NO_ERROR, parts_done: PARTS })
      await mart.expectEqual()
      await woken(helper)
      await mart.expectEqual()
      // What it sent late is not in what the next run publishes either.
      expect(await run(mart.main, mart.id)).toMatchObject({ ...NO_ERROR, parts_done: PARTS })
      await mart.expectEqual()
    })

    const points = inTurn(OF_THE_HOLDER, place * SHARE, SHARE)
    const holders = ways.flatMap((way) =>
      both.flatMap((how) =>
        points
          .filter((point) => way === 'upsert' || !/^(batch|checkpoint).+@2$/.test(point))
          .map((point) => ({ way, how, point })),
      ),
    )
    const someHolders = sampleOf<Struck>(holders, {
      key,
      labels: ({ way, how, point }) => [point, how, way],
    })

    it.each(someHolders)('survive the holder of the run: $how at $point, $way', async (one) => {
      const mart = await SinkMart.create(server(), one.way)
      const runId = await requestRun(mart.main, mart.id)
      const holder = mart.runner({ VITRINA_FAILPOINT: `${one.point}=${one.how}`, RUNNER_LEASE_SECONDS: '1' })
      await struck(holder, one.how)
      // Its successor reads another state of the source.
      await mart.change('second')
      const env = { ...server().env, RUNNER_LEASE_SECONDS: '20', RUNNER_POLL_INTERVAL_MS: '50' }
      const runner = await aRunner(mart.main, { env })
      const ended: StoredRun = await runEnded(mart.main, runId)
      expect(ended).toMatchObject({ ...NO_ERROR, parts_total: PARTS, parts_done: PARTS })
      // Parts that were committed before are of the first state: the next run brings what changed since.
      expect(await run(mart.main, mart.id)).toMatchObject(NO_ERROR)
      await mart.expectEqual()
      if (one.how === 'freeze') {
        await woken(holder)
        await mart.expectEqual()
      }
      await runner.stop()
    })

    if (!inTurn([0, 1, 2], 0).includes(place)) return
    describe('without the ledger', () => {
      const part = 'transfers/parts/part-transfer.js'
      const OFF: Patch = {
        file: part,
        from: 'await (isMain ? notes.done(record, meta) : notes.require());',
        to: 'await notes.require();',
      }
      const EARLY: Patch = {
        file: part,
        from: 'const sent = isTransactional ? null : await this.#send(stream);',
        to: `await this.#opened.notes.done({ rows: { read: 0, inserted: 0, updated: 0, unchanged: 0, deleted: 0, quarantined: 0, duplicates: 0 },
          marks: [], durationMs: 0, phases: { readMs: null, transformMs: null, writeMs: 0, checkpointMs: 0 }, spans: [] }, null);
          process.kill(process.pid, 'SIGKILL'); const sent = null;`,
      }

      async function killed(env: Record<string, string>) {
        const mart = await SinkMart.create(server(), 'upsert')
        const { runId, owner, helper } = await helped(mart, env)
        await struck(helper, 'kill')
        owner.kill('SIGCONT')
        expect(await runEnded(mart.main, runId)).toMatchObject({ status: 'SUCCESS', parts_done: PARTS })
        const claims = (await mart.partsOf(runId)).reduce((sum, { attempts }) => sum + attempts, 0)
        return { claims, rows: (await server().read(mart.main, mart.name))!.length }
      }

      it('a part is written again, and with it once', async () => {
        const env = { VITRINA_FAILPOINT: 'part.committed@1=kill' }
        expect(await killed({ ...env, ...patchedBy([OFF]) })).toEqual({ claims: PARTS + 1, rows: ROWS })
        expect(await killed(env)).toEqual({ claims: PARTS, rows: ROWS })
      })

      it('rows are lost if their line comes before them', async () => {
        const { rows } = await killed(patchedBy([EARLY]))
        expect(rows).toBeLessThan(ROWS)
      })
    })
  })
}
