import { beforeEach, describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { SearchLab, searchServer } from '../support/elasticsearch.js'
import { FaultProxy, type ProxyFault } from '../support/fault-proxy.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { aRunner } from '../support/runner.js'
import { requestRun, runEnded } from '../support/runs.js'
import { inTurn } from '../support/sample.js'
import { waitFor } from '../support/wait.js'

const server = await searchServer()
const lab = new SearchLab('url' in server ? server.url : '')
const ROWS = 3_000

beforeEach((context) => {
  if ('missing' in server) context.skip(server.missing)
})

/** A source of one batch that makes several bulks, and a pipeline into an index of this test. */
async function aStand(write_mode: string): Promise<{ database: TestDatabase; id: string; name: string }> {
  const name = lab.name()
  const database = await aDatabase()
  await database.query(`
    CREATE SCHEMA content; GRANT USAGE ON SCHEMA content TO PUBLIC;
    CREATE TABLE content.film (id integer PRIMARY KEY, title text, plot text);
    INSERT INTO content.film SELECT n, 'old', repeat('x', 1000) FROM generate_series(1, ${ROWS}) AS n;
    GRANT SELECT ON content.film TO PUBLIC; ANALYZE content.film`)
  const { id } = await aPipeline(database, {
    sourceQuery: 'SELECT id, title, plot FROM content.film',
    targetTable: `es:${name}`,
    targetOptions: { write_mode },
    keyColumns: ['id'],
    batchSize: ROWS,
  })
  return { database, id, name }
}

/**
 * A runner that is frozen at its first bulk until another one has taken over, and has written newer values. `when`
 * gets a function that freezes it, and decides what happens to the bulk then.
 */
async function freezeAtBulk(
  write_mode: string,
  when: (frozenUntilOvertaken: () => Promise<void>) => ProxyFault,
): Promise<{ name: string; titles: Record<string, number>; bulks: number }> {
  const { database, id, name } = await aStand(write_mode)
  const proxy = await FaultProxy.before(lab.url)
  let victim: SpawnedVitrina | null = null
  // On a loaded machine the runner can also be late with its lease before it is frozen: that message does not count.
  let printedBefore: number | null = null
  const overtaken = async () => {
    victim!.kill('SIGSTOP')
    try {
      await database.query("UPDATE content.film SET title = 'new'")
      const runner = await aRunner(database, { env: { ELASTICSEARCH_URL: lab.url, ALLOWED_ES_INDEXES: '*' } })
      expect(await runEnded(database, runId)).toMatchObject({ status: 'SUCCESS', error: null })
      await runner.stop()
    } finally {
      printedBefore = victim!.stderr.length
      // The answer is to be there before it wakes: what it does first must not depend on who is faster.
      setTimeout(() => victim!.kill('SIGCONT'), 300)
    }
  }
  proxy.fault = ({ path }) => (path.includes('/_bulk') && proxy.bulks().length === 1 ? when(overtaken) : null)
  const runId = await requestRun(database, id)
  victim = spawnVitrina(['runner'], {
    DATABASE_URL: database.url,
    ELASTICSEARCH_URL: proxy.url,
    ALLOWED_ES_INDEXES: '*',
    ELASTICSEARCH_BULK_MIB: '1',
    ELASTICSEARCH_PARALLEL_BULKS: '1',
    RUNNER_LEASE_SECONDS: '1',
    RUNNER_POLL_INTERVAL_MS: '100',
  })
  await waitFor(
    async () =>
      printedBefore !== null && victim!.stderr.slice(printedBefore).includes('Lease lost: another runner'),
    { what: 'the woken runner to report that it lost its lease', timeoutMs: 60_000 },
  ).catch((error) => {
    throw new Error(`${error.message}\nOutput:\n${victim!.stderr}`)
  })
  victim.kill('SIGTERM')
  await victim.exited
  return { name, titles: await titlesOf(name), bulks: proxy.bulks().length }
}

/** How many documents have each title. */
async function titlesOf(name: string): Promise<Record<string, number>> {
  await lab.call('POST', `/${name}/_refresh`)
  const count = async (title: string) =>
    (await lab.call<{ count: number }>('GET', `/${name}/_count?q=title.keyword:${title}`)).count
  return { old: await count('old'), new: await count('new') }
}

describe('a runner that was frozen past its lease while it wrote to Elasticsearch', () => {
  it.each(inTurn(['update', 'index'], 0))(
    'sends nothing more when it wakes up, in write_mode %s',
    async (write_mode) => {
      const { titles, bulks } = await freezeAtBulk(write_mode, (overtaken) => ({
        kind: 'pass',
        change: async (body) => {
          await overtaken()
          return body
        },
      }))
      expect(titles).toEqual({ old: 0, new: ROWS })
      expect(bulks).toBe(1)
    },
  )

  it('is refused by the server in write_mode index when its request was under way that long', async () => {
    let answer = ''
    const { titles } = await freezeAtBulk('index', (overtaken) => ({
      kind: 'pass',
      after: overtaken,
      change: (body) => (answer = body),
    }))
    expect(titles).toEqual({ old: 0, new: ROWS })
    expect(answer).toContain('version_conflict_engine_exception')
  })

  it('reverts newer changes in write_mode update only with that request, as documented in the guide', async () => {
    const { titles, bulks } = await freezeAtBulk('update', (overtaken) => ({
      kind: 'pass',
      after: overtaken,
    }))
    expect(bulks).toBe(1)
    expect(titles.old).toBeGreaterThan(0)
    expect(titles.old! + titles.new!).toBe(ROWS)
    expect(titles.new).toBeGreaterThan(0)
  })
})
