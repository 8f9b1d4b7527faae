import type { ConnectionReport } from '../model/connection.js'
import type { SinkKind } from '../ports/sink.js'
import { checkServer } from '../postgres/server-check.js'
import { asVitrinaError } from './as-vitrina-error.js'
import { withClient } from './connect.js'

/** Longer than a healthy server needs to respond. */
const TIMEOUT_MS = 5_000

type AllowLists = ConnectionReport['allowLists']

export interface ProbedDatabase {
  readonly name: string
  /** The setting with the address, for hints. */
  readonly setting: string
  /** One for each login that this process uses there. */
  readonly urls: readonly string[]
  readonly allowLists: AllowLists
}

/** Connects with every login, and reports a server or a pooler that pipelines cannot use. */
export async function probeDatabase(
  database: ProbedDatabase,
  timeoutMs = TIMEOUT_MS,
): Promise<ConnectionReport> {
  const { name, setting, urls, allowLists } = database
  const known = {
    name,
    kind: 'postgresql',
    address: shownAddress(urls[0]!),
    logins: urls.map((url) => decodeURIComponent(new URL(url).username)).filter((login) => login !== ''),
    allowLists,
  }
  try {
    const [first] = await Promise.all(urls.map((url) => ask(url, timeoutMs)))
    return { ...known, ...first!, state: 'reachable', detail: null, failure: null }
  } catch (error) {
    return { ...known, ...UNANSWERED, failure: failureOf(error, setting) }
  }
}

export async function probeSink(kind: SinkKind, timeoutMs = TIMEOUT_MS): Promise<ConnectionReport> {
  const known = { name: kind.kind, kind: kind.kind, address: kind.address ?? null, logins: [] }
  const allowLists = [kind.allowList]
  const late = AbortSignal.timeout(timeoutMs)
  try {
    const missing = await kind.missing()
    if (missing !== null) {
      const detail = `${missing.message} ${missing.hint}`
      return { ...known, ...UNANSWERED, state: 'not_configured', detail, failure: null, allowLists }
    }
    const since = performance.now()
    const detail = await kind.ping(late)
    const latencyMs = elapsed(since)
    // A server that responds without its version is still reachable.
    const version = (await kind.version?.(late).catch(() => null)) ?? null
    return { ...known, state: 'reachable', version, latencyMs, detail, failure: null, allowLists }
  } catch (error) {
    // A client may throw anything when its signal aborts.
    const failure = late.aborted ? unanswered(timeoutMs) : failureOf(error)
    return { ...known, ...UNANSWERED, failure, allowLists }
  }
}

/** Without login and password, for people to read. */
export function shownAddress(url: string): string {
  const { host, pathname } = new URL(url)
  // The folder of a socket is escaped.
  return `${decodeURIComponent(host)}${pathname}`
}

const UNANSWERED = { state: 'unreachable', version: null, latencyMs: null, detail: null } as const

function ask(url: string, timeoutMs: number): Promise<{ version: string; latencyMs: number }> {
  const since = performance.now()
  return withClient(
    url,
    async (client) => {
      const { text } = await checkServer(client, url)
      return { version: text, latencyMs: elapsed(since) }
    },
    { timeoutMs, name: 'vitrina-probe' },
  )
}

function elapsed(since: number): number {
  return Math.round((performance.now() - since) * 10) / 10
}

function unanswered(timeoutMs: number): ConnectionReport['failure'] {
  return {
    code: 'SINK_UNAVAILABLE',
    message: `No response within ${timeoutMs / 1000} s.`,
    hint: 'Check that the server is running, and that no firewall blocks the connection.',
  }
}

function failureOf(error: unknown, setting?: string): ConnectionReport['failure'] {
  const { code, message, hint } = asVitrinaError(error, setting)
  return { code, message, hint }
}
