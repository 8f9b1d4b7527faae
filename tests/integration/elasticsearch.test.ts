import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PipelineSpec } from '../../src/model/pipeline.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { SearchLab, searchServer } from '../support/elasticsearch.js'
import { FaultProxy, type ProxyFault } from '../support/fault-proxy.js'
import { aRunner } from '../support/runner.js'
import { requestRun, run, runById, runEnded } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

const server = await searchServer()
const lab = new SearchLab('url' in server ? server.url : '')
if ('missing' in server) it('runs into Elasticsearch', (context) => context.skip(server.missing))

/** Runs of the whole product into a server with realistic failures. */
describe.runIf('url' in server)('a run into Elasticsearch', () => {
  let database: TestDatabase
  let proxy: FaultProxy
  let runner: Awaited<ReturnType<typeof aRunner>>

  beforeAll(async () => {
    database = await aDatabase()
    await database.query('CREATE SCHEMA IF NOT EXISTS content; GRANT USAGE ON SCHEMA content TO PUBLIC')
    proxy = await FaultProxy.open(lab.url)
    runner = await aRunner(database, {
      env: { ELASTICSEARCH_URL: proxy.url, ALLOWED_ES_INDEXES: '*', ELASTICSEARCH_RETRY_SECONDS: '1' },
    })
  }, 300_000)
  afterAll(async () => {
    await runner?.stop()
    await proxy?.close()
  })

  const aMart = async (rows: number, spec: Partial<PipelineSpec> = {}) => {
    const name = lab.name()
    const source = `content.s_${randomBytes(4).toString('hex')}`
    await database.query(
      `CREATE TABLE ${source} AS SELECT g::bigint AS id, 'Film ' || g AS title, clock_timestamp() AS modified FROM generate_series(1, ${rows}) g`,
    )
    await database.query(
      `ALTER TABLE ${source} ADD PRIMARY KEY (id), ALTER modified SET NOT NULL; CREATE INDEX ON ${source} (modified, id); GRANT SELECT ON ${source} TO PUBLIC; ANALYZE ${source}`,
    )
    const { id } = await aPipeline(database, {
      sourceQuery: `SELECT id, title, modified FROM ${source}`,
      targetTable: `es:${name}`,
      keyColumns: ['id'],
      batchSize: 100,
      ...spec,
    })
    return { id, name, source }
  }
  const incremental = { mode: 'incremental', incrementalKey: 'modified', incrementalIdKey: 'id' } as const
  const someBatches = (runId: string) =>
    waitFor(async () => (await runById(database, runId)).batches > 2, { what: 'a few batches' })

  /** Faults for the bulk requests of one mart only. */
  const faults = (name: string, fault: (nth: number) => ProxyFault | null) => {
    let nth = 0
    proxy.fault = ({ path }) => (path.startsWith(`/${name}`) && path.includes('/_bulk') ? fault(++nth) : null)
  }

  it('delivers every row through a faulty server', async () => {
    const { id, name } = await aMart(2_000)
    const bad: ProxyFault[] = [
      { kind: 'answer', status: 429 },
      { kind: 'lose' },
      { kind: 'answer', status: 500 },
      { kind: 'half' },
      { kind: 'cut' },
    ]
    faults(name, (nth) => (nth % 2 === 0 ? bad[(nth / 2) % bad.length]! : null))
    expect(await run(database, id)).toMatchObject({
      status: 'SUCCESS',
      rows_read: 2_000,
      rows_quarantined: 0,
    })
    expect(await lab.count(name)).toBe(2_000)
  })

  it('writes everything again if the index is deleted in the middle', async () => {
    const { id, name } = await aMart(3_000, { batchSize: 20 })
    const runId = await requestRun(database, id)
    await someBatches(runId)
    await lab.call('DELETE', `/${name}`)
    expect(await runEnded(database, runId)).toMatchObject({ status: 'SUCCESS' })
    expect(await lab.count(name)).toBe(3_000)
    const mapping = await lab.call<Record<string, { mappings: { dynamic: string } }>>(
      'GET',
      `/${name}/_mapping`,
    )
    expect(mapping[name]!.mappings.dynamic).toBe('strict')
  })

  it('writes everything again if the index was deleted since the last run, although the checkpoint is at the end', async () => {
    const { id, name } = await aMart(300, incremental)
    expect((await run(database, id)).status).toBe('SUCCESS')
    await lab.call('DELETE', `/${name}`)
    expect(await run(database, id)).toMatchObject({ status: 'SUCCESS', rows_read: 300 })
    expect(await lab.count(name)).toBe(300)
  })

  it('fails with a clear state if the server is down, and resumes at the checkpoint', async () => {
    const { id, name } = await aMart(1_000, { ...incremental, batchSize: 50 })
    faults(name, (nth) => (nth > 5 ? { kind: 'cut' } : null))
    const failed = await run(database, id)
    expect(failed).toMatchObject({ status: 'FAILED', error_code: 'VTR-4201' })
    expect(failed.rows_read).toBeGreaterThan(0)
    proxy.fault = () => null
    expect(await run(database, id)).toMatchObject({ status: 'SUCCESS', rows_read: 1_000 - failed.rows_read })
    expect(await lab.count(name)).toBe(1_000)
  })

  it('fails with a clear state if the index is locked, and resumes when it is not', async () => {
    const { id, name } = await aMart(200)
    expect((await run(database, id)).status).toBe('SUCCESS')
    await lab.call('PUT', `/${name}/_settings`, { 'index.blocks.write': true })
    expect(await run(database, id)).toMatchObject({ status: 'FAILED', error_code: 'VTR-4205' })
    await lab.call('PUT', `/${name}/_settings`, { 'index.blocks.write': null })
    expect((await run(database, id)).status).toBe('SUCCESS')
  })

  it('fails before it writes if a field has another type', async () => {
    const { id, name } = await aMart(10)
    await lab.call('PUT', `/${name}`, { mappings: { properties: { title: { type: 'date' } } } })
    expect(await run(database, id)).toMatchObject({ status: 'FAILED', error_code: 'VTR-4002', rows_read: 0 })
    expect(await lab.count(name)).toBe(0)
  })

  it('quarantines a rejected document, and accepts the others', async () => {
    const { id, name } = await aMart(50)
    await lab.call('PUT', `/${name}`, {
      mappings: { properties: { title: { type: 'ip', ignore_malformed: false } } },
    })
    await database.query(
      'UPDATE etl.etl_pipelines SET source_query = replace(source_query, $2, $3) WHERE id = $1',
      [id, 'title,', "CASE id WHEN 7 THEN 'nowhere' ELSE '10.0.0.' || id END AS title,"],
    )
    expect(await run(database, id)).toMatchObject({ status: 'SUCCESS', rows_quarantined: 1 })
    const [held] = await database.query<{ reason: string }>(
      'SELECT reason FROM etl.etl_quarantine WHERE pipeline_id = $1',
      [id],
    )
    expect(held!.reason).toContain('nowhere')
    expect(await lab.count(name)).toBe(49)
  })
})
