import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PipelineSpec } from '../../src/model/pipeline.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { elasticsearchKind } from '../support/elasticsearch.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import {
  DOCUMENTED,
  type Privileges,
  type SecureSearch,
  startSecureSearch,
} from '../support/secure-elasticsearch.js'

describe('an Elasticsearch with TLS and logins', () => {
  let server: SecureSearch
  let missing: string | null = null
  let database: TestDatabase

  beforeAll(async () => {
    const started = await startSecureSearch()
    if ('missing' in started) {
      missing = started.missing
      return
    }
    server = started
    database = await aDatabase({ cinema: true })
  }, 300_000)
  beforeEach((context) => {
    if (missing !== null) context.skip(missing)
  })
  afterAll(() => server?.stop())

  const admin = () => ({
    ELASTICSEARCH_URL: server.url,
    ELASTICSEARCH_CA_FILE: server.ca,
    ELASTICSEARCH_USERNAME: 'admin',
    ELASTICSEARCH_PASSWORD: server.password,
  })
  const withKey = async (privileges: Privileges) => ({
    ELASTICSEARCH_URL: server.url,
    ELASTICSEARCH_CA_FILE: server.ca,
    ELASTICSEARCH_API_KEY: await server.apiKey(privileges),
  })

  /** One run with these settings into an index of this test alone. */
  const runWith = async (env: Record<string, string>, spec: Partial<PipelineSpec> = {}) => {
    const runner = await aRunner(database, { env: { ...env, ALLOWED_ES_INDEXES: '*' } })
    const { id } = await aPipeline(database, { targetTable: 'es:film_dim', sharedTarget: true, ...spec })
    const ended = await run(database, id)
    await runner.stop()
    const log = await database.query('SELECT message, fields FROM etl.etl_run_log WHERE run_id = $1', [
      ended.id,
    ])
    return { ...ended, shown: JSON.stringify([ended, log]) }
  }
  const films = async (index: string) => {
    await server.call('POST', `/${index}/_refresh`)
    return (await server.call<{ count: number }>('GET', `/${index}/_count`)).count
  }

  it('takes user, password and authority from the environment', async () => {
    expect(await runWith(admin())).toMatchObject({ status: 'SUCCESS', error: null })
    const [source] = await database.query<{ n: number }>('SELECT count(*)::int AS n FROM content.film_work')
    expect(await films('film_dim')).toBe(source!.n)
    const signal = new AbortController().signal
    expect(await elasticsearchKind(server.url, admin()).ping(signal)).toContain('vitrina-test responds')
  })

  it('takes user and password from the address too', async () => {
    const url = new URL(server.url)
    url.username = 'admin'
    url.password = encodeURIComponent(server.password)
    const env = { ELASTICSEARCH_URL: url.href, ELASTICSEARCH_CA_FILE: server.ca }
    expect(await runWith(env)).toMatchObject({ status: 'SUCCESS', error: null })
  })

  it.each<[string, () => Record<string, string>, string, RegExp, RegExp]>([
    [
      'a wrong password',
      () => ({ ...admin(), ELASTICSEARCH_PASSWORD: `${server.password}!` }),
      'VTR-4204',
      /unable to authenticate user \[admin\]/,
      /ELASTICSEARCH_PASSWORD/,
    ],
    [
      'an API key that does not exist',
      () => ({ ...admin(), ELASTICSEARCH_API_KEY: Buffer.from(`who:${server.password}`).toString('base64') }),
      'VTR-4204',
      /unable to authenticate with provided credentials/,
      /ELASTICSEARCH_API_KEY/,
    ],
    [
      'a user who may only read',
      () => ({ ...admin(), ELASTICSEARCH_USERNAME: 'reader' }),
      'VTR-4204',
      /unauthorized for user \[reader\].* granted by the index privileges \[.*write/,
      /docs\/guides\/elasticsearch\.md/,
    ],
    [
      'a certificate of another authority',
      () => ({ ...admin(), ELASTICSEARCH_CA_FILE: server.strangeCa }),
      'VTR-4203',
      /certificate of Elasticsearch is not trusted/,
      /ELASTICSEARCH_CA_FILE/,
    ],
    [
      'no authority at all',
      () => {
        const { ELASTICSEARCH_CA_FILE: _, ...rest } = admin()
        return rest
      },
      'VTR-4203',
      /certificate of Elasticsearch is not trusted/,
      /ELASTICSEARCH_CA_FILE/,
    ],
  ])('fails a run with a remedy and no secret for %s', async (_, env, code, error, hint) => {
    const failed = await runWith(env())
    expect(failed).toMatchObject({
      status: 'FAILED',
      attempt: 1,
      error_code: code,
      error: expect.stringMatching(error),
      error_hint: expect.stringMatching(hint),
    })
    for (const secret of [server.password, Buffer.from(`admin:${server.password}`).toString('base64')])
      expect(failed.shown).not.toContain(secret)
  })

  it.each(['update', 'index'])(
    'needs only the privileges that the guide lists in write_mode %s',
    async (write_mode) => {
      const env = { ...admin(), ELASTICSEARCH_USERNAME: 'vitrina' }
      const spec = { targetTable: `es:film_dim_${write_mode}`, targetOptions: { write_mode } }
      for (const change of [{}, { deletes: 'sweep' }, { fullStrategy: 'replace' }, {}] as const)
        expect(await runWith(env, { ...spec, ...change })).toMatchObject({ status: 'SUCCESS', error: null })
      const signal = new AbortController().signal
      const kind = elasticsearchKind(server.url, env)
      expect(await kind.ping(signal)).toContain('responds')
      expect(await kind.version!(signal)).toMatch(/^\d+\.\d+/)
    },
  )

  describe('with an API key', () => {
    beforeEach((context) => {
      if (server.noApiKeys !== null) context.skip(server.noApiKeys)
    })

    it('takes it from the environment', async () => {
      const spec = { targetTable: 'es:film_dim_key' }
      expect(await runWith(await withKey(DOCUMENTED), spec)).toMatchObject({ status: 'SUCCESS', error: null })
    })

    it.each([
      [
        'that may not read the metadata of the index',
        ['read', 'write'],
        /\[indices:admin\/get\].* privileges \[.*manage/,
      ],
      ['that may not write', ['read', 'manage'], /\[indices:data\/write\/.*privileges \[.*write/],
      ['that may not read', ['write', 'manage'], /\[indices:data\/read\/.* privileges \[.*read/],
    ])('says which privilege is missing to an API key %s', async (_, privileges, expected) => {
      const env = await withKey({ ...DOCUMENTED, indices: [{ names: ['film_few*'], privileges }] })
      const failed = await runWith(env, { targetTable: 'es:film_few', deletes: 'sweep' })
      expect(failed).toMatchObject({
        status: 'FAILED',
        error_code: 'VTR-4204',
        error: expect.stringMatching(expected),
      })
      expect(failed.shown).not.toContain(env.ELASTICSEARCH_API_KEY)
    })
  })
})
