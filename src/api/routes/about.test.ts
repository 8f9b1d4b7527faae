import { createServer, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { readSettings, SETTINGS } from '../../config/settings.js'
import { probedByApi } from '../../main/connection-probes.js'
import { SINKS } from '../../sinks/index.js'
import { migrations } from '../../store/migrate.js'
import { aboutWire } from '../schemas/about.js'
import { connectionsWire } from '../schemas/connection.js'

let database: TestDatabase
let api: TestApi
/** Tests servers that do not respond, with a timeout of half a second. */
let impatient: TestApi
/** Accepts connections and never responds. */
let silent: Server
beforeAll(async () => {
  database = await aDatabase()
  silent = createServer(() => {})
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as { port: number }
  const settings = readSettings({
    DATABASE_URL: database.url,
    VITRINA_CONNECTION_WAREHOUSE_URL: database.url,
    VITRINA_CONNECTION_GONE_URL: 'postgres://etl:s3cret@127.0.0.1:9/dwh',
    VITRINA_CONNECTION_SILENT_URL: `postgres://etl:s3cret@127.0.0.1:${port}/dwh`,
    VITRINA_CONNECTION_WRONG_URL: database.url.replace(/\/\/[^@]*@/, '//stranger:s3cret@'),
    ELASTICSEARCH_URL: 'http://ann:s3cret@127.0.0.1:9',
    ALLOWED_ES_INDEXES: 'films',
  })
  const { databases, sinks } = probedByApi(settings)
  const isSilent = ({ name, kind }: { name?: string; kind?: string }) =>
    name === 'silent' || kind === 'elasticsearch'
  api = anApi(database.loginUrl('meta'), {
    probed: {
      databases: databases.filter((each) => !isSilent(each)),
      sinks: sinks.filter((each) => !isSilent(each)),
    },
  })
  impatient = anApi(database.loginUrl('meta'), {
    probed: { databases: databases.filter(isSilent), sinks: sinks.filter(isSilent), timeoutMs: 500 },
  })
  await aPipeline(database, { name: 'inside' })
  await aPipeline(database, { name: 'from_outside', sourceConnection: 'Warehouse' })
  await aPipeline(database, { name: 'lost', sourceConnection: 'nowhere' })
})
afterAll(async () => {
  silent.close()
})

describe('GET /connections', () => {
  it('reports for each server whether it responds, its version, the pipelines that use it and what is allowed, without secrets', async () => {
    const answer = await api.get('/connections')
    const { items, looked_by } = connectionsWire.parse(answer.json())
    expect(looked_by).toMatchObject({ process: 'api', pid: process.pid })
    expect(answer.body).not.toContain('s3cret')
    const late = await impatient.get('/connections')
    expect(late.body).not.toContain('s3cret')
    const all = [...items, ...connectionsWire.parse(late.json()).items]
    const of = (name: string) => all.find((item) => item.name === name)
    expect(of('main')).toMatchObject({
      kind: 'postgresql',
      state: 'reachable',
      logins: ['vitrina_meta', 'vitrina_reader'],
      error: null,
      allow_lists: [
        { setting: 'ALLOWED_SOURCE_SCHEMAS', names: ['content', 'ugc'] },
        { setting: 'ALLOWED_TARGET_TABLES', names: ['analytics.*'] },
      ],
    })
    expect(of('main')?.version).toMatch(/^\d+/)
    expect(of('main')?.latency_ms).toBeGreaterThan(0)
    expect(of('main')?.pipelines.map(({ name, reads, writes }) => [name, reads, writes])).toEqual([
      ['from_outside', false, true],
      ['inside', true, true],
      ['lost', false, true],
    ])
    expect(of('warehouse')).toMatchObject({
      state: 'reachable',
      pipelines: [{ name: 'from_outside', reads: true, writes: false }],
      pipelines_count: 1,
    })
    expect(of('gone')).toMatchObject({
      state: 'unreachable',
      address: '127.0.0.1:9/dwh',
      logins: ['etl'],
      version: null,
      error: { code: 'DATABASE_UNAVAILABLE', hint: expect.any(String) },
    })
    expect(of('silent')).toMatchObject({ state: 'unreachable', error: { code: 'DATABASE_UNAVAILABLE' } })
    expect(of('wrong')).toMatchObject({
      state: 'unreachable',
      error: { code: 'DATABASE_ERROR', hint: expect.stringContaining('VITRINA_CONNECTION_WRONG_URL') },
    })
    expect(of('nowhere')).toMatchObject({
      state: 'unknown',
      error: { code: 'CONNECTION_UNKNOWN' },
      pipelines: [{ name: 'lost', reads: true, writes: false }],
    })
    expect(of('elasticsearch')).toMatchObject({
      state: 'unreachable',
      address: '127.0.0.1:9',
      error: { code: 'SINK_UNAVAILABLE', message: 'No response within 0.5 s.' },
      allow_lists: [{ setting: 'ALLOWED_ES_INDEXES', names: ['films'] }],
    })
    expect(of('clickhouse')).toMatchObject({ state: 'not_configured', error: null })
  })

  it('tests each server once for concurrent requests', async () => {
    const answers = await Promise.all([api.get('/connections'), api.get('/connections')])
    const [one, two] = answers.map((answer) => answer.json().items[0].latency_ms)
    expect(one).toBe(two)
  })
})

describe('GET /about', () => {
  it('reports versions, migrations and the start time', async () => {
    const about = aboutWire.strict().parse((await api.get('/about')).json())
    expect(about).toMatchObject({ version: '0.0.0-test', node: process.versions.node, pid: process.pid })
    expect(about.database.migrations.map(({ name }) => name)).toEqual(migrations().map(({ name }) => name))
    expect(about.database.version).toMatch(/^\d+/)
  })
})

describe('GET /settings', () => {
  it('returns values with their origin, and only reports that secrets are set', async () => {
    const own = anApi(database.loginUrl('meta'), {
      env: {
        VITRINA_API_TOKEN: 'a-secret-of-the-admin',
        RUNNER_CONCURRENCY: '7',
        ALLOWED_SOURCE_SCHEMAS: 'a, b',
        VITRINA_URL: 'https://ann:pw@vitrina.example.com',
        OPENLINEAGE_URL: 'https://ann:half@other-half@lineage.example.com/api?code=of-the-function',
      },
    })
    const answer = await own.get('/settings')
    await own.close()
    const of = (name: string) => answer.json().items.find((item: { name: string }) => item.name === name)
    expect(of('RUNNER_CONCURRENCY')).toMatchObject({ value: '7', source: 'environment', is_secret: false })
    expect(of('VITRINA_PORT')).toMatchObject({ value: '8080', source: 'default' })
    expect(of('ALLOWED_SOURCE_SCHEMAS')).toMatchObject({ value: 'a,b' })
    expect(of('VITRINA_API_TOKEN')).toMatchObject({ value: null, source: 'environment', is_secret: true })
    expect(of('DATABASE_URL')).toMatchObject({ value: null, source: 'unset', is_secret: true })
    expect(of('VITRINA_URL')).toMatchObject({ value: 'https://vitrina.example.com' })
    expect(of('OPENLINEAGE_URL')).toMatchObject({ value: 'https://lineage.example.com/api?***' })
    expect(answer.body).not.toContain('a-secret-of-the-admin')
  })

  it('has a rule for every setting whose name suggests a secret', () => {
    const tables = [SETTINGS, ...SINKS.map((sink) => sink.settings)]
    const open = tables
      .flatMap((table) => Object.entries(table))
      .filter(([name]) =>
        /TOKEN|SECRET|PASSWORD|_KEY|DATABASE_URL|CONNECTIONS|SEARCH_URL|HOUSE_URL/.test(name),
      )
      .filter(([, setting]) => !('isSecret' in setting))
    expect(open.map(([name]) => name)).toEqual([])
  })
})
