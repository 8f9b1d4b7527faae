import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../../../tests/support/api.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { openStream, type SseClient } from '../../../tests/support/sse.js'
import { waitFor } from '../../../tests/support/wait.js'

const KIB = 1024
const EVENTS = 8_000

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'), { heartbeatMs: 50 })
  await api.app.listen({ host: '127.0.0.1', port: 0 })
})

async function listen(token = TOKEN): Promise<SseClient> {
  const client = await openStream(api.app, { authorization: `Bearer ${token}` })
  onTestFinished(() => client.close())
  return client
}

/** A client that opened a stream and does not read it, with the server side of its connection. */
async function aSlowReader(own: TestApi): Promise<{ response: IncomingMessage; server: ServerResponse }> {
  const { port } = own.app.server.address() as AddressInfo
  const answered = once(own.app.server, 'request') as Promise<[IncomingMessage, ServerResponse]>
  const headers = { authorization: `Bearer ${TOKEN}` }
  const asked = request({ port, host: '127.0.0.1', path: '/events', headers }).end()
  onTestFinished(() => void asked.destroy())
  const [[response], [, server]] = await Promise.all([
    once(asked, 'response') as Promise<[IncomingMessage]>,
    answered,
  ])
  response.pause()
  return { response, server }
}

/** Far more than all buffers in between can hold: 2 KB each. */
async function flood(): Promise<void> {
  await database.query(
    `SELECT etl.emit('flood', NULL, NULL, jsonb_build_object('n', n, 'pad', repeat('x', 2000))) FROM generate_series(1, $1::int) n`,
    [EVENTS],
  )
}

const floods = (client: SseClient) => client.events.filter(({ event }) => event === 'flood')

describe('an event stream', () => {
  it('buffers little for a client that does not read, delays no other client, and delivers everything later', async () => {
    const own = anApi(database.loginUrl('meta'))
    await own.app.listen({ host: '127.0.0.1', port: 0 })
    const { response, server } = await aSlowReader(own)
    const quick = await openStream(own.app, { authorization: `Bearer ${TOKEN}` })
    onTestFinished(() => quick.close())
    let most = 0
    const hasAll = async () => {
      most = Math.max(most, server.writableLength)
      return floods(quick).length === EVENTS
    }
    await flood()
    await waitFor(hasAll, { what: 'the fast client to receive everything' })
    expect(most, 'it does wait for the slow one').toBeGreaterThan(100 * KIB)
    expect(most).toBeLessThan(160 * KIB)
    const numbers: number[] = []
    let text = ''
    response.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
      const lines = text.split('\n')
      text = lines.pop()!
      for (const line of lines) if (line.startsWith('id: ')) numbers.push(Number(line.slice(4)))
    })
    response.resume()
    await waitFor(async () => numbers.length >= EVENTS, { what: 'the slow client to receive everything' })
    expect(numbers).toEqual(quick.events.map(({ id }) => id))
  })

  it('disconnects a client that keeps not reading', async () => {
    const { server } = await aSlowReader(api)
    await flood()
    await waitFor(async () => server.destroyed, { what: 'the server to disconnect' })
  })

  it('sends heartbeats when there are no events', async () => {
    const client = await listen()
    await waitFor(async () => client.text.split(': still here\n\n').length > 3, { what: 'three heartbeats' })
    expect(client.events).toEqual([])
  })

  it.each(['viewer', 'operator', 'admin'])(
    'is open to a %s, and ends when the token is revoked',
    async (role) => {
      const { id, token } = (await api.post('/tokens', { name: 'listener', role })).json()
      const client = await listen(token)
      expect(client.response.status).toBe(200)
      await api.call({ method: 'DELETE', url: `/tokens/${id}` })
      await waitFor(async () => client.ended, { what: 'the stream to end' })
      expect((await listen(token)).response.status).toBe(401)
    },
  )

  it('ends when the token expires', async () => {
    const { id, token } = (await api.post('/tokens', { name: 'passing', role: 'viewer' })).json()
    const client = await listen(token)
    await database.query("UPDATE etl.etl_tokens SET expires_at = now() - interval '1 second' WHERE id = $1", [
      id,
    ])
    await waitFor(async () => client.ended, { what: 'the stream to end' })
    expect((await listen(token)).response.status).toBe(401)
  })

  it('delivers all events to one client: it needs no second stream', async () => {
    const client = await listen()
    for (const pipeline of ['a', 'b'])
      await api.post('/pipelines', {
        name: pipeline,
        source_query: 'SELECT 1 AS id',
        target_table: `analytics.${pipeline}`,
      })
    await client.waitFor('both', (events) =>
      ['a', 'b'].every((name) => events.some(({ data }) => data.name === name)),
    )
  })
})
