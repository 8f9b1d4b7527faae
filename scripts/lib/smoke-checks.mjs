import { refused } from './smoke-client.mjs'
import { Finding } from './smoke-finding.mjs'
import { roundTrip } from './smoke-round-trip.mjs'

/** The server counts a runner as alive for as long. */
const SIGN_OF_LIFE_MS = 15_000
const WRONG_TOKEN = 'a-wrong-token-of-the-smoke-test'

/** In this order; one that needs another is not run when that one failed. */
export const CHECKS = [
  { name: 'server', run: server },
  { name: 'readiness', needs: ['server'], run: readiness },
  { name: 'authentication', needs: ['server'], run: authentication },
  { name: 'token', needs: ['server'], run: acceptedToken },
  { name: 'version', needs: ['token'], run: version },
  { name: 'pipelines', needs: ['token'], run: pipelines },
  { name: 'validation', needs: ['pipelines'], run: validation },
  { name: 'runners', needs: ['token'], run: runners },
  { name: 'metrics', needs: ['token'], run: metrics },
  { name: 'console', needs: ['server'], run: consolePages },
  { name: 'round trip', needs: ['token', 'runners'], run: optionalRoundTrip },
]

async function server({ client, facts }) {
  const answer = await client.get('/health', { token: null })
  if (answer.json?.status !== 'ok' || typeof answer.json.version !== 'string')
    return Finding.failed(
      `${client.url} responds, but it is not a Vitrina API.`,
      'Check the address, and the proxy in front of it.',
    )
  facts.version = answer.json.version
  return Finding.passed(`Vitrina ${facts.version} responds at ${client.url} (${answer.tookMs} ms).`)
}

async function readiness({ client }) {
  const answer = await client.ask('/health/ready', { token: null })
  if (answer.status === 200) return Finding.passed('Database and migrations are ready.')
  const [part, down] =
    Object.entries(answer.json?.checks ?? {}).find(([, { status }]) => status === 'down') ?? []
  if (down !== undefined)
    return Finding.failed(`The ${part} is down: ${down.code}. ${down.detail}`, down.hint)
  if (answer.json?.draining)
    return Finding.failed('The API is shutting down.', 'Try again when it has restarted.')
  throw refused('GET /health/ready', answer)
}

async function authentication({ client }) {
  for (const token of [null, WRONG_TOKEN]) {
    const { status } = await client.ask('/api/v1/pipelines', { token })
    if (status !== 401)
      return Finding.failed(
        `A request with ${token === null ? 'no token' : 'a wrong token'} got ${status} instead of 401.`,
        'Check the proxy in front of the API: it must not add a token or a session.',
      )
  }
  return Finding.passed('Requests with no token and with a wrong token are rejected.')
}

async function acceptedToken({ client }) {
  const answer = await client.ask('/api/v1/session')
  if (answer.status === 401)
    return Finding.failed(
      'The server rejects the token.',
      'Pass the token of this server: the file .vitrina/api-token, VITRINA_API_TOKEN, or "vitrina tokens create".',
    )
  if (answer.status !== 200) throw refused('GET /session', answer)
  return Finding.passed(`Accepted as ${answer.json.name}, role ${answer.json.role}.`)
}

async function version({ client, facts }) {
  const { json } = await client.get('/api/v1/about')
  const { migrations } = json.database
  if (json.version !== facts.version)
    return Finding.failed(
      `/health reports version ${facts.version}, /about ${json.version}.`,
      'Several versions respond at this address: finish the upgrade.',
    )
  return Finding.passed(
    `Vitrina ${json.version} on PostgreSQL ${json.database.version}, ${migrations.length} migrations up to ${migrations.at(-1)?.name}.`,
  )
}

async function pipelines({ client, facts }) {
  const { json } = await client.get('/api/v1/pipelines?limit=200')
  facts.pipelines = json.items
  const enabled = json.items.filter((one) => one.enabled).length
  const more = json.next_cursor === null ? '' : ' on the first page'
  return Finding.passed(`${json.items.length} pipelines${more}, ${enabled} of them enabled.`)
}

async function validation({ client, facts, options }) {
  const chosen = await choosePipeline(client, facts.pipelines, options.pipeline)
  if (chosen === undefined && options.pipeline === undefined)
    return Finding.skipped('there is no pipeline to validate')
  if (chosen === undefined)
    return Finding.failed(
      `No pipeline is named "${options.pipeline}".`,
      'Check the name given with --pipeline.',
    )
  const { json, tookMs } = await client.get(`/api/v1/pipelines/${chosen.id}/validate`, { method: 'POST' })
  if (json.valid) return Finding.passed(`"${chosen.name}" is valid (${tookMs} ms).`)
  const [first] = json.errors
  return Finding.failed(
    `"${chosen.name}" is not valid: ${first?.message ?? 'no reason given'}`,
    first?.hint ?? 'Fix it.',
  )
}

async function choosePipeline(client, known, name) {
  if (name === undefined) return known.find(({ enabled }) => enabled) ?? known[0]
  const { json } = await client.get(`/api/v1/pipelines?limit=200&q=${encodeURIComponent(name)}`)
  return json.items.find((one) => one.name === name)
}

async function runners({ client, facts }) {
  const { json } = await client.get('/api/v1/runners')
  const alive = json.items.filter((one) => one.stopped_at === null && one.heartbeat_age_ms <= SIGN_OF_LIFE_MS)
  if (alive.length === 0)
    return Finding.failed(
      `No runner has reported within ${SIGN_OF_LIFE_MS / 1000} s (${json.items.length} seen in the last day).`,
      'Start one with "vitrina runner"; until then requested runs wait.',
    )
  const other = alive.find((one) => one.version !== facts.version)
  if (other !== undefined)
    return Finding.failed(
      `Runner ${other.id} has version ${other.version}, the API ${facts.version}.`,
      'Finish the upgrade: API and runners should have the same version.',
    )
  const slots = alive.reduce((sum, { concurrency }) => sum + concurrency, 0)
  return Finding.passed(`${alive.length} alive, ${slots} pipelines at a time.`)
}

async function metrics({ client }) {
  const { text, type } = await client.get('/metrics')
  const families = new Set([...text.matchAll(/^# TYPE (vitrina_\w+)/gm)].map(([, name]) => name))
  if (!type.startsWith('text/plain') || families.size === 0)
    return Finding.failed(
      '/metrics does not return the Prometheus text format.',
      'Check the proxy in front of the API.',
    )
  return Finding.passed(`${families.size} metric families for Prometheus.`)
}

async function consolePages({ client }) {
  const { text, type } = await client.get('/ui/', { token: null })
  const script = /<script[^>]+src="([^"]+)"/.exec(text)?.[1]
  if (!type.startsWith('text/html') || script === undefined)
    return Finding.failed('/ui/ is not the console.', 'Build it with "npm run build", or check the proxy.')
  const { pathname } = new URL(script, `${client.url}/ui/`)
  const under = new URL(client.url).pathname.replace(/\/$/, '')
  await client.get(pathname.startsWith(`${under}/`) ? pathname.slice(under.length) : pathname, {
    token: null,
  })
  return Finding.passed(`Served at ${client.url}/ui/.`)
}

async function optionalRoundTrip(context) {
  return context.options.write
    ? roundTrip(context)
    : Finding.skipped('--write creates, runs, compares and deletes a pipeline')
}
