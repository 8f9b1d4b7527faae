import { loginUrl, type Settings } from '../config/settings.js'
import { type ConnectionReport, MAIN_CONNECTION } from '../model/connection.js'
import type { Connections } from '../ports/connections.js'
import type { SinkKind } from '../ports/sink.js'
import { type ProbedDatabase, probeDatabase, probeSink } from './probe.js'
import { targetRules } from './targets.js'

export interface Probed {
  readonly databases: readonly ProbedDatabase[]
  readonly sinks: readonly SinkKind[]
  /** How long a server may take to respond; not given: 5 s. */
  readonly timeoutMs?: number
}

/** Every server that the API can reach: the main database with its own logins, named databases, and sinks. */
export function probedByApi(settings: Settings): Probed {
  const main: ProbedDatabase = {
    name: MAIN_CONNECTION,
    setting: 'DATABASE_URL',
    urls: [loginUrl(settings, 'meta'), loginUrl(settings, 'reader')],
    allowLists: allowLists(settings),
  }
  return {
    databases: [main, ...namedDatabases(settings)],
    sinks: targetRules(settings).kinds,
  }
}

export function namedDatabases(settings: Settings): ProbedDatabase[] {
  return [...settings.connections].map(([name, url]) => ({
    name,
    setting: `VITRINA_CONNECTION_${name.toUpperCase()}_URL`,
    urls: [url],
    allowLists: allowLists(settings),
  }))
}

function allowLists(settings: Settings): ProbedDatabase['allowLists'] {
  return [
    { setting: 'ALLOWED_SOURCE_SCHEMAS', names: settings.ALLOWED_SOURCE_SCHEMAS },
    { setting: 'ALLOWED_TARGET_TABLES', names: settings.ALLOWED_TARGET_TABLES },
  ]
}

export class ConnectionProbes implements Connections {
  readonly #probed: Probed
  #running: Promise<readonly ConnectionReport[]> | null = null

  constructor(probed: Probed) {
    this.#probed = probed
  }

  /** Concurrent requests share one test: many open consoles must not become many connections. */
  test(): Promise<readonly ConnectionReport[]> {
    this.#running ??= this.#probe().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  #probe(): Promise<readonly ConnectionReport[]> {
    const { databases, sinks, timeoutMs } = this.#probed
    return Promise.all([
      ...databases.map((each) => probeDatabase(each, timeoutMs)),
      ...sinks.map((each) => probeSink(each, timeoutMs)),
    ])
  }
}
