import { hostname } from 'node:os'
import { type ConnectionReport, type ConnectionUse, MAIN_CONNECTION } from '../../model/connection.js'
import { kindOf, type TargetRules } from '../../model/target.js'
import type { Catalog } from '../../ports/catalog.js'
import type { Connections } from '../../ports/connections.js'

/** How a pipeline uses a connection. */
export interface UseOfConnection {
  readonly id: string
  readonly name: string
  readonly reads: boolean
  readonly writes: boolean
}

export interface KnownConnection extends Omit<ConnectionReport, 'state'> {
  /** unknown: a pipeline uses it, but this process has no address for it. */
  readonly state: ConnectionReport['state'] | 'unknown'
  readonly uses: readonly UseOfConnection[]
}

export interface ConnectionTest {
  readonly at: Date
  /** The process that tested it: a runner may have other settings and be in another network. */
  readonly host: string
  readonly pid: number
  readonly connections: readonly KnownConnection[]
}

export class ConnectionService {
  readonly #connections: Connections
  readonly #catalog: Catalog
  readonly #targets: TargetRules

  constructor(connections: Connections, catalog: Catalog, targets: TargetRules) {
    this.#connections = connections
    this.#catalog = catalog
    this.#targets = targets
  }

  async test(): Promise<ConnectionTest> {
    const [reports, pipelines] = await Promise.all([
      this.#connections.test(),
      this.#catalog.listConnectionUses(),
    ])
    const uses = this.#usesByConnection(pipelines)
    const known = reports.map((report) => ({ ...report, uses: uses.get(report.name) ?? [] }))
    const names = new Set(reports.map(({ name }) => name))
    const unknown = [...uses].filter(([name]) => !names.has(name)).map(([name, of]) => unknownTo(name, of))
    return { at: new Date(), host: hostname(), pid: process.pid, connections: [...known, ...unknown] }
  }

  #usesByConnection(pipelines: readonly ConnectionUse[]): Map<string, UseOfConnection[]> {
    const found = new Map<string, UseOfConnection[]>()
    const add = (connection: string, use: UseOfConnection) => {
      const uses = found.get(connection)
      if (uses === undefined) found.set(connection, [use])
      else uses.push(use)
    }
    for (const { id, name, sourceConnection, targetConnection, target } of pipelines) {
      const source = (sourceConnection ?? MAIN_CONNECTION).toLowerCase()
      const sink = kindOf(target, this.#targets)?.kind.kind
      const mart = sink ?? (targetConnection ?? MAIN_CONNECTION).toLowerCase()
      add(source, { id, name, reads: true, writes: source === mart })
      if (source !== mart) add(mart, { id, name, reads: false, writes: true })
    }
    return found
  }
}

function unknownTo(name: string, uses: readonly UseOfConnection[]): KnownConnection {
  return {
    name,
    kind: 'postgresql',
    address: null,
    logins: [],
    state: 'unknown',
    version: null,
    latencyMs: null,
    detail: null,
    failure: {
      code: 'CONNECTION_UNKNOWN',
      message: `Pipelines use the connection "${name}", but this process has no address for it.`,
      hint: `Set VITRINA_CONNECTION_${name.toUpperCase()}_URL for API and runner.`,
    },
    allowLists: [],
    uses,
  }
}
