import { inject, onTestFinished } from 'vitest'
import { Captor } from '../../src/capture/captor.js'
import type { CaptorOptions } from '../../src/capture/captor-options.js'
import { ChangeReader, type Changes, type ReaderOptions } from '../../src/capture/change-reader.js'
import type { Head } from '../../src/capture/head.js'
import {
  ensureHead,
  headById,
  type LogPosition,
  type NeededTable,
  registerPipeline,
} from '../../src/capture/heads.js'
import { formatLsn, type Lsn, parseLsn } from '../../src/capture/lsn.js'
import { applyPublication, planPublication } from '../../src/capture/publication.js'
import { Signals, WANTED_CHANNEL } from '../../src/capture/signals.js'
import { Session } from '../../src/postgres/session.js'
import { parseTable } from '../../src/sql/identifiers.js'
import { CaptureEvents } from '../../src/telemetry/capture-events.js'
import { createLog } from '../../src/telemetry/log.js'
import { aPipeline } from './builders.js'
import { aDatabase, type TestDatabase } from './database.js'
import { makeMemoryFolder } from './memory-folder.js'
import { removePostgres, startPostgres } from './postgres-server.js'
import { majorOf, type TestServer } from './server.js'
import { waitFor } from './wait.js'

export const KEEP_BYTES = 1024 * 1024 * 1024

export interface LogicalServer extends TestServer {
  readonly dataDir: string
  /** Ends the server and removes its data. */
  stop(): Promise<void>
  pause(): Promise<void>
  /** With the same data and port. */
  start(): Promise<void>
}

/**
 * A server whose changes can be captured. A commit with `SET LOCAL synchronous_commit = on` waits for a standby that
 * does not exist, until it is cancelled: decoded, and not visible.
 */
export async function aLogicalServer(settings: Record<string, string> = {}): Promise<LogicalServer> {
  const { path: home } = makeMemoryFolder('vitrina-logical')
  const { bin } = inject('server')
  const start = () =>
    startPostgres({
      home,
      bin,
      settings: {
        wal_level: 'logical',
        max_replication_slots: '20',
        max_wal_senders: '20',
        max_prepared_transactions: '10',
        synchronous_commit: 'local',
        synchronous_standby_names: 'nosuch',
        autovacuum: 'off',
        ...settings,
      },
    })
  let server = await start()
  return {
    url: server.url,
    prefix: 'test_',
    major: await majorOf(server.url),
    bin,
    dataDir: server.dataDir,
    start: async () => {
      server = await start()
    },
    pause: () => server.stop(),
    stop: async () => {
      await server.stop()
      await removePostgres(home)
    },
  }
}

export interface RigOptions {
  readonly server: TestServer
  /** Creates the tables. */
  readonly sql: string
  readonly tables: readonly NeededTable[]
}

/** A source, a main database with a registered pipeline, and what reads and writes the log between them. */
export class Rig {
  readonly main: TestDatabase
  readonly source: TestDatabase
  readonly tables: readonly NeededTable[]
  readonly signals: Signals
  readonly session: Session
  readonly pipelineId: string
  readonly headId: number

  private constructor(
    parts: Omit<Rig, 'captor' | 'head' | 'reader' | 'open' | 'captured' | 'log' | 'prepare'>,
  ) {
    this.main = parts.main
    this.source = parts.source
    this.tables = parts.tables
    this.signals = parts.signals
    this.session = parts.session
    this.pipelineId = parts.pipelineId
    this.headId = parts.headId
  }

  static async create({ server, sql, tables }: RigOptions): Promise<Rig> {
    const main = await aDatabase()
    const source = await aDatabase({ migrated: false, server })
    await source.query(sql)
    const session = await Session.open(main.url, 'vitrina-test', never())
    onTestFinished(() => session.close())
    const signals = new Signals(main.url)
    signals.start()
    onTestFinished(() => signals.stop())
    const head = await ensureHead(session, 'cinema')
    // A runner removes the registration of a pipeline that does not capture this source.
    const { id: pipelineId } = await aPipeline(main, {
      sourceConnection: 'cinema',
      mode: 'incremental',
      capture: 'wal',
    })
    await registerPipeline(session, { head, pipelineId }, tables)
    const rig = new Rig({ main, source, tables, signals, session, pipelineId, headId: head.id })
    await rig.prepare()
    return rig
  }

  /** Creates or changes the publication. */
  async prepare(tables = this.tables): Promise<void> {
    const owner = await Session.open(this.source.url, 'vitrina-test', never())
    try {
      const { publication } = await this.head()
      await applyPublication(owner, await planPublication(owner, publication, tables))
    } finally {
      await owner.close()
    }
  }

  head(): Promise<Head> {
    return headById(this.session, this.headId)
  }

  /** Running, until the test ends. */
  captor(options: Partial<CaptorOptions> = {}): Captor {
    const level = (process.env.TEST_LOG_LEVEL ?? 'silent') as 'silent'
    const captor = new Captor({
      head: this.headId,
      mainUrl: this.main.url,
      sourceUrl: this.source.url,
      owner: 'test',
      leaseSeconds: 10,
      keepBytes: KEEP_BYTES,
      signals: this.signals,
      events: new CaptureEvents(createLog({ service: 'test', version: '0', level, format: 'json' })),
      ...options,
    })
    captor.start()
    onTestFinished(() => captor.stop())
    return captor
  }

  reader(options: Partial<ReaderOptions> = {}): ChangeReader {
    const reader = new ChangeReader({
      head: this.headId,
      main: this.session,
      sourceUrl: this.source.url,
      signals: this.signals,
      signal: never(),
      ...options,
    })
    onTestFinished(() => reader.close())
    return reader
  }

  /** What a run would learn now; `read` may look at the source in the same snapshot. */
  async open(
    last: LogPosition | null = null,
    read: (source: Session, changes: Changes) => Promise<void> = async () => {},
  ): Promise<Changes> {
    const reader = this.reader()
    const source = await Session.open(this.source.url, 'vitrina-test', never())
    try {
      await source.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const changes = await reader.open({ source, tables: this.tables, last })
      await read(source, changes)
      return changes
    } finally {
      await source.close()
      await reader.close()
    }
  }

  /** Waits until everything that was committed before is in the log. */
  async captured(): Promise<Lsn> {
    await this.source.query("SELECT pg_logical_emit_message(true, 'test', '')")
    const [row] = await this.source.query<{ lsn: string }>('SELECT pg_current_wal_flush_lsn()::text AS lsn')
    const lsn = parseLsn(row!.lsn)
    await waitFor(
      async () => {
        const { upto, startSnapshot } = await this.head()
        if (startSnapshot !== null && upto >= lsn) return true
        // As a consumer does: otherwise a captor without entries writes its position only once a second.
        await this.main.query('SELECT pg_notify($1, $2)', [
          WANTED_CHANNEL,
          `${this.headId} ${formatLsn(lsn)}`,
        ])
        return false
      },
      { what: 'the log to reach the source' },
    )
    return lsn
  }

  /** The log in order, without positions. */
  async log(): Promise<{ relation: string; op: string; old: unknown; new: unknown }[]> {
    return this.main.query(
      'SELECT relation, op, old, new FROM etl.etl_changes WHERE head = $1 ORDER BY end_lsn, seq',
      [this.headId],
    )
  }
}

export function positionOf({ generation, position, fingerprint }: Changes): LogPosition {
  return { generation, endLsn: position, fingerprint }
}

function never(): AbortSignal {
  return new AbortController().signal
}

/** Publishes tables of a source as its owner would, after `vitrina sources prepare`. */
export async function prepareSource(
  main: TestDatabase,
  source: TestDatabase,
  { connection, tables }: { readonly connection: string; readonly tables: readonly string[] },
): Promise<void> {
  const session = await Session.open(main.url, 'vitrina-test', never())
  const owner = await Session.open(source.url, 'vitrina-test', never())
  try {
    const { publication } = await ensureHead(session, connection)
    const names = tables.map((name) => parseTable(name))
    await applyPublication(owner, await planPublication(owner, publication, names))
  } finally {
    await owner.close()
    await session.close()
  }
}
