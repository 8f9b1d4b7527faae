import { searchServer } from '../../support/elasticsearch.js'
import { type SeenRow, sinkSuite } from './suite.js'

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

for (const write_mode of ['update', 'index']) {
  sinkSuite({
    name: `Elasticsearch, write_mode ${write_mode}`,
    inProcesses: true,
    start: async () => {
      const server = await searchServer()
      if ('missing' in server) return server
      return {
        env: { ELASTICSEARCH_URL: server.url, ALLOWED_ES_INDEXES: 'm_*' },
        options: { write_mode },
        target: (name) => `es:${name}`,
        read: (_database, name) => read(server.url, name),
        close: async () => {},
      }
    },
  })
}
