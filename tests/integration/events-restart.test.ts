import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { type EmbeddedServer, startEmbedded } from '../../src/embedded/index.js'
import { LOGINS, loginPassword } from '../../src/model/logins.js'
import { migrate } from '../../src/store/migrate.js'
import { grantRoles } from '../../src/store/roles.js'
import { anApi, TOKEN } from '../support/api.js'
import { aFolder } from '../support/folders.js'
import { withClient } from '../support/server.js'
import { openStream, type SseClient } from '../support/sse.js'
import { waitFor } from '../support/wait.js'

const HEADERS = { authorization: `Bearer ${TOKEN}` }

async function aServer(): Promise<{ start(): Promise<EmbeddedServer> }> {
  const home = join(await aFolder(), '.vitrina')
  return {
    start: async () => {
      const server = await startEmbedded({ home, settings: { max_connections: '40' } })
      onTestFinished(() => server.stop())
      return server
    },
  }
}

function metaUrl(administratorUrl: string): string {
  const url = new URL(administratorUrl)
  url.username = LOGINS.meta
  url.password = loginPassword(administratorUrl, 'meta')
  return url.href
}

/** Without a final checkpoint: what `pg_ctl stop -m immediate` does. */
async function stopImmediately(server: EmbeddedServer): Promise<void> {
  const [pid] = (await readFile(join(server.dataDir, 'postmaster.pid'), 'utf8')).split('\n')
  process.kill(Number(pid), 'SIGQUIT')
  await server.stop()
}

/** Many events in one transaction, which is visible as a whole or not at all. */
async function emit(url: string, batch: string): Promise<void> {
  await withClient(url, (client) =>
    client.query(
      `SELECT etl.emit('test', NULL, NULL, jsonb_build_object('batch', $1::text, 'n', n)) FROM generate_series(1, 20) n`,
      [batch],
    ),
  )
}

const seen = (client: SseClient) =>
  client.events.filter(({ event }) => event === 'test').map(({ data }) => `${data.batch}.${data.n}`)
const batchesOf = (...batches: string[]) =>
  batches.flatMap((batch) => Array.from({ length: 20 }, (_, n) => `${batch}.${n + 1}`))
const untilReceived = (client: SseClient, batch: string) =>
  client.waitFor(`batch ${batch}`, (events) =>
    events.some(({ data }) => data.batch === batch && data.n === 20),
  )

it('continues over a real restart of the database, for clients that stay and clients that reconnect', async () => {
  const { start } = await aServer()
  let server = await start()
  const { url } = server
  await migrate(url)
  await grantRoles({ administratorUrl: url, sourceSchemas: [], targetSchemas: ['analytics'] })
  const api = anApi(metaUrl(url))
  await api.app.listen({ host: '127.0.0.1', port: 0 })
  const steady = await openStream(api.app, HEADERS)
  const first = await openStream(api.app, HEADERS)
  await emit(url, 'before')
  await Promise.all([untilReceived(steady, 'before'), untilReceived(first, 'before')])
  first.close()
  const last = String(first.events.at(-1)!.id)

  await stopImmediately(server)
  const during = await openStream(api.app, { ...HEADERS, 'last-event-id': last })
  expect(during.response.status, 'it reports that it cannot know where to start').toBe(503)
  expect(Number(during.response.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(steady.ended, 'the existing one stays').toBe(false)
  server = await start()
  expect(server.url).toBe(url)
  await emit(url, 'between')
  const second = await waitFor(
    async () => {
      const client = await openStream(api.app, { ...HEADERS, 'last-event-id': last })
      return client.response.status === 200 ? client : null
    },
    { what: 'the stream to respond again' },
  )
  onTestFinished(() => second.close())
  await untilReceived(second, 'between')

  // Once more, with a normal shutdown and both listening.
  await server.stop()
  server = await start()
  await emit(url, 'after')
  await Promise.all([untilReceived(steady, 'after'), untilReceived(second, 'after')])
  expect(seen(steady)).toEqual(batchesOf('before', 'between', 'after'))
  expect(seen(second)).toEqual(batchesOf('between', 'after'))
  const ids = steady.events.map(({ id }) => id)
  expect(ids).toEqual(Array.from({ length: 60 }, (_, n) => ids[0]! + n))
  steady.close()
}, 120_000)
