import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { createPool, LimitedClient } from '../../src/postgres/client.js'
import { KeptSessions } from '../../src/postgres/kept-sessions.js'
import { Session } from '../../src/postgres/session.js'
import { anApi, type TestApi } from '../support/api.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { inTurn } from '../support/sample.js'
import { hasOpenssl, tlsFront } from '../support/tls-front.js'

const MEGABYTE = 1024 * 1024
const TOO_LARGE = { code: 'DATABASE_MESSAGE_TOO_LARGE' }

/** 73 MB, which neither the text shows nor the guard computes; PostgreSQL does so while it plans. */
const HIDDEN_SIZE = "ascii('z') * 600000"
const QUOTES_IT = `SELECT repeat('y', ${HIDDEN_SIZE})::int AS film_id`

let database: TestDatabase

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
})

async function connected(url = database.url): Promise<pg.Client> {
  const client = new LimitedClient({ connectionString: url, application_name: 'vitrina-test' })
  client.on('error', () => {})
  await client.connect()
  return client
}

const openssl = await hasOpenssl()

describe('a message above 64 MiB', () => {
  const KINDS = [
    ['an error', QUOTES_IT],
    ['a row', `SELECT repeat('y', ${65 * MEGABYTE})`],
    ['a notice', `DO $$ BEGIN RAISE NOTICE '%', repeat('y', ${65 * MEGABYTE}); END $$`],
    ['a row of many columns', `SELECT ${Array(70).fill(`repeat('y', ${MEGABYTE})`).join(', ')}`],
  ] as const
  it.each(inTurn(KINDS, 0, 2))(
    'ends the connection with a clear error when it is %s',
    async (_what, query) => {
      const client = await connected()
      await expect(client.query(query)).rejects.toMatchObject(TOO_LARGE)
      await client.end()
    },
  )

  it.skipIf(!openssl)('ends the connection over TLS too (needs openssl)', async () => {
    const client = await connected(await tlsFront(database.url))
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    await expect(client.query(QUOTES_IT)).rejects.toMatchObject(TOO_LARGE)
    await client.end()
  })

  it('costs a pool one connection, which it replaces', async () => {
    const pool = createPool({ connectionString: database.url, max: 1, application_name: 'vitrina-test' })
    pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}))
    await expect(pool.query(QUOTES_IT)).rejects.toMatchObject(TOO_LARGE)
    expect((await pool.query('SELECT 2 AS two')).rows).toEqual([{ two: 2 }])
    await pool.end()
  })

  it('passes when it is a row of a transfer', async () => {
    const session = await Session.open(database.url, 'vitrina-test', new AbortController().signal)
    let bytes = 0
    for await (const piece of session.copyOut(`COPY (SELECT repeat('y', ${100 * MEGABYTE})) TO STDOUT`))
      bytes += piece.length
    expect(bytes).toBe(100 * MEGABYTE + 1)
    // The session follows the protocol again.
    expect(await session.rows('SELECT 3 AS three')).toEqual([{ three: '3' }])
    await expect(session.rows(QUOTES_IT)).rejects.toMatchObject(TOO_LARGE)
    await session.close()
  })

  it('is 16 MiB for the API, which parses what it reads', async () => {
    const kept = new KeptSessions()
    const open = (purpose: 'inspection' | 'source') =>
      kept.open(database.url, { name: 'vitrina-test', purpose }, new AbortController().signal)
    const large = `SELECT length(repeat('y', ${20 * MEGABYTE})) AS length, repeat('y', ${20 * MEGABYTE}) AS text`
    const [inspection, run] = [await open('inspection'), await open('source')]
    await expect(inspection.rows(large)).rejects.toMatchObject(TOO_LARGE)
    expect((await run.rows(large))[0]!.length).toBe(String(20 * MEGABYTE))
    await Promise.all([inspection.close(), run.close()])
    await kept.close()
  })

  it('is an error of which the beginning of each part is read', async () => {
    const client = await connected()
    const notices: string[] = []
    client.on('notice', ({ message }) => void notices.push(message ?? ''))
    await client.query(`DO $$ BEGIN RAISE NOTICE '%', repeat('n', ${MEGABYTE}); END $$`)
    const raise = `RAISE EXCEPTION USING ERRCODE = '22P02', MESSAGE = repeat('m', 5000000), DETAIL = repeat('d', 5000000), HINT = 'Try this.'`
    const error = await client.query(`DO $$ BEGIN ${raise}; END $$`).catch((thrown) => thrown)
    expect(error).toMatchObject({ code: '22P02', hint: 'Try this.', severity: 'ERROR' })
    expect([error.message.length, error.detail.length, notices[0]!.length]).toEqual([16_384, 16_384, 16_384])
    expect(error.where).toContain('PL/pgSQL')
    // What follows is read as before.
    expect((await client.query('SELECT 4 AS four')).rows).toEqual([{ four: 4 }])
    await client.end()
  })

  it('passes when it is just below the limit', async () => {
    const client = await connected()
    const { rows } = await client.query(`SELECT repeat('y', ${64 * MEGABYTE - 100}) AS text`)
    expect(rows[0].text).toHaveLength(64 * MEGABYTE - 100)
    await client.end()
  })
})

describe('the API', () => {
  let api: TestApi
  beforeAll(() => {
    api = anApi(database.loginUrl('meta'), { readerUrl: database.loginUrl('reader') })
  })

  it.each(inTurn(['/validate', '/validate?quick=true'], 0))(
    'reports it at %s and continues',
    async (path) => {
      const draft = { source_query: QUOTES_IT, target_table: 'analytics.large', key_columns: ['film_id'] }
      const answer = await api.post(path, draft)
      expect(answer.json()).toMatchObject({ valid: false, errors: [TOO_LARGE] })
      expect(answer.body.length).toBeLessThan(10_000)
      expect((await api.get('/pipelines')).statusCode).toBe(200)
    },
  )

  it('reports it at /preview and continues', async () => {
    const answer = await api.post('/preview', { source_query: QUOTES_IT })
    expect(answer.statusCode).toBe(422)
    expect(answer.json()).toMatchObject(TOO_LARGE)
    expect((await api.get('/pipelines')).statusCode).toBe(200)
  })
})

describe('a runner', () => {
  it('fails the run whose plan is too large to read, and runs the next one', async () => {
    await aRunner(database)
    // A plan writes each backslash four times: 24 MB become 98 MB.
    const { id } = await aPipeline(database, {
      sourceQuery: "SELECT 1 AS film_id, repeat(chr(92), ascii('z') * 200000) AS body",
    })
    expect(await run(database, id)).toMatchObject({ status: 'FAILED', error_code: 'VTR-9010' })
    const { id: honest } = await aPipeline(database)
    expect(await run(database, honest)).toMatchObject({ status: 'SUCCESS' })
  })
})

it('has no connection that is not limited', () => {
  const root = fileURLToPath(new URL('../../src/', import.meta.url))
  const makers = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .filter((file) =>
      /new (pg\.)?(Client|Pool|Connection)\(|extends pg\.(Client|Pool)\b/.test(
        readFileSync(join(root, file), 'utf8'),
      ),
    )
  expect(makers).toEqual(['postgres/client.ts'])
})
