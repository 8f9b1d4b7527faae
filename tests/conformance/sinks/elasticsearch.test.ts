import { searchServer } from '../../support/elasticsearch.js'
import { inTurn, someOf } from '../../support/sample.js'
import { BETWEEN_SERVERS, type SeenRow, sinkSuite } from './suite.js'

/** Documents as a person with curl sees them. */
async function read(url: string, index: string): Promise<SeenRow[] | null> {
  if (!(await fetch(`${url}/${index}`)).ok) return null
  await fetch(`${url}/${index}/_refresh`, { method: 'POST' })
  const answer = await fetch(`${url}/${index}/_search?size=10000`)
  if (!answer.ok) return null
  const { hits } = (await answer.json()) as {
    hits: { hits: { _source: { id: number; title: string | null; n: number | null } }[] }
  }
  return hits.hits.map(({ _source: { id, title, n } }) => ({
    id: String(id),
    title,
    n: n === null ? null : String(n),
  }))
}

async function tamper(url: string, index: string): Promise<void> {
  const call = (method: string, path: string, body?: unknown) =>
    fetch(`${url}/${index}/${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
  await call('DELETE', '_doc/1')
  await call('POST', '_update/2', { doc: { title: 'wrong' } })
  const { _source } = (await (await call('GET', '_doc/3')).json()) as { _source: object }
  await call('PUT', '_doc/9999', { ..._source, id: 9999 })
}

const MODES = ['update', 'index']

for (const [place, write_mode] of MODES.entries()) {
  sinkSuite({
    name: `Elasticsearch, write_mode ${write_mode}`,
    // In `npm test` each promise in one mode, and a crash in both.
    includes: (promise) => someOf(MODES, 1, (mode) => `${promise} ${mode}`).includes(write_mode),
    crashes: inTurn(BETWEEN_SERVERS, place),
    start: async () => {
      const server = await searchServer()
      if ('missing' in server) return server
      return {
        env: { ELASTICSEARCH_URL: server.url, ALLOWED_ES_INDEXES: 'm_*' },
        options: { write_mode },
        isParted: true,
        acceptsLate: write_mode === 'update',
        target: (name) => `es:${name}`,
        read: (_database, name) => read(server.url, name),
        tamper: (_database, name) => tamper(server.url, name),
        close: async () => {},
      }
    },
  })
}
