import type { SinkKind } from '../../ports/sink.js'
import { Cluster } from './cluster.js'
import { ELASTICSEARCH_SETTINGS, type ElasticsearchSettings, readOptions } from './config.js'
import { ElasticsearchSink } from './sink.js'

/** R4.11: `es:<index>`. */
export const elasticsearch = {
  settings: ELASTICSEARCH_SETTINGS,
  create: (settings: ElasticsearchSettings): SinkKind => ({
    kind: 'elasticsearch',
    prefix: settings.ES_TARGET_PREFIX,
    allowList: { setting: 'ALLOWED_ES_INDEXES', names: settings.ALLOWED_ES_INDEXES },
    address: settings.ELASTICSEARCH_URL?.map((url) => new URL(url).host).join(', ') ?? null,
    missing: async () => (settings.ELASTICSEARCH_URL === undefined ? MISSING : null),
    nameProblem,
    datasetName: (name) => datasetName(settings, name),
    readOptions,
    ping: (signal) => ping(settings, signal),
    version: (signal) => version(settings, signal),
    open: async (mart) => new ElasticsearchSink(mart, settings),
  }),
}

const MISSING = {
  message: 'ELASTICSEARCH_URL is not set; no Elasticsearch is configured.',
  hint: 'Set ELASTICSEARCH_URL, for example to http://localhost:9200, for the API and for the runners.',
}

/** The server allows 255 bytes; names of replacements and of the write alias are longer than the name of the mart. */
const MAX_BYTES = 200

/** The server's rules for index names. */
function nameProblem(name: string): string | null {
  if (name === '') return 'the name of the index is missing'
  if (name !== name.toLowerCase()) return 'an index name must be in lower case'
  if (/[\\/*?"<>| ,#:\p{Cc}]/u.test(name))
    return 'an index name must not contain \\ / * ? " < > | , # : or a space'
  if (/^[-_+.]/.test(name)) return 'an index name must not begin with - _ + or a dot'
  if (Buffer.byteLength(name) > MAX_BYTES) return `an index name must not exceed ${MAX_BYTES} bytes`
  return null
}

/** The first of several nodes identifies the cluster. */
function datasetName({ ELASTICSEARCH_URL: urls }: ElasticsearchSettings, name: string) {
  if (urls?.[0] === undefined) return null
  const { hostname, port, protocol } = new URL(urls[0])
  return { namespace: `elasticsearch://${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`, name }
}

async function ping(settings: ElasticsearchSettings, signal: AbortSignal): Promise<string> {
  const cluster = new Cluster(settings, signal)
  try {
    const { body } = await cluster.ask<{ cluster_name: string; status: string }>({
      method: 'GET',
      path: '/_cluster/health',
      target: 'Elasticsearch',
    })
    return `cluster ${body.cluster_name} responds at ${cluster.client.address}, status ${body.status}`
  } finally {
    cluster.client.close()
  }
}

async function version(settings: ElasticsearchSettings, signal: AbortSignal): Promise<string> {
  const cluster = new Cluster(settings, signal)
  try {
    // Not GET /: a cluster may disable it, and this needs no privilege beyond reading the cluster health.
    const { body } = await cluster.ask<{ nodes: Record<string, { version: string }> }>({
      method: 'GET',
      path: '/_nodes/_local?filter_path=nodes.*.version',
      target: 'Elasticsearch',
    })
    return Object.values(body.nodes)[0]!.version
  } finally {
    cluster.client.close()
  }
}
