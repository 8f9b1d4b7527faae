import type { Signals } from '../capture/index.js'
import { type Claim, sessionName } from '../model/claim.js'
import { MemberFailure } from '../model/member-failure.js'
import type { PartClaim } from '../model/part.js'
import { finalTarget, type Pipeline, type Way } from '../model/pipeline.js'
import type { TargetRules } from '../model/target.js'
import { requirePlan } from '../model/task-plan.js'
import type { SinkKind } from '../ports/sink.js'
import type {
  GroupMember,
  GroupTransfer,
  Ledger,
  PartNotes,
  PartTransfer,
  Transfer,
  TransferFactory,
} from '../ports/transfer.js'
import type { TransformHosts } from '../ports/transforms.js'
import { connectionUrl } from '../postgres/connection-url.js'
import { databaseError } from '../postgres/errors.js'
import { KeptSessions } from '../postgres/kept-sessions.js'
import { openSink } from '../sinks/open.js'
import type { TargetTable } from '../sinks/postgres/target.js'
import { type Attempt, type AttemptOptions, openAttempt, writingOf } from './attempt.js'
import type { SourceRules } from './examine.js'
import { type GroupAttempt, GroupSessions, OpenGroup, requireGroupable } from './group.js'
import { GroupBatches } from './group-batches.js'
import { KeptExaminations } from './kept-examinations.js'
import { findInSink, SinkMart } from './marts/sink.js'
import { findTable, isEmptyTable, TableMart, wantedTable } from './marts/table.js'
import { Cutter } from './parts/cutter.js'
import { requireLocal } from './parts/engine-support.js'
import { RunPart } from './parts/part-transfer.js'
import { SinkParts } from './parts/sink-parts.js'
import { TableParts } from './parts/table-parts.js'
import { chooseRoute } from './routes/choose-route.js'
import { RowsRoute } from './routes/rows.js'
import { SelectionRoute } from './routes/selections.js'
import { Resources } from './sides.js'
import { RouteTransfer } from './transfer.js'

export interface TransferSettings {
  /** The logins that read and write the main database. */
  readonly readerUrl: string
  readonly writerUrl: string
  readonly connections: ReadonlyMap<string, string>
  readonly targets: TargetRules<SinkKind>
  readonly transforms: TransformHosts
  readonly rules: SourceRules
  /** Where captors and runs notify each other. */
  readonly signals: Signals
  /** For tests and benchmarks: use this route even if a faster one is possible. */
  readonly way?: Way
}

/** Where the two sides of a transfer are. */
type Addresses = Pick<AttemptOptions, 'sourceUrl' | 'url' | 'isMain' | 'isTransactional'>

type Shared = Omit<AttemptOptions, keyof Addresses>

export class Transfers implements TransferFactory {
  readonly #settings: TransferSettings
  readonly #sessions = new KeptSessions()
  readonly #examinations = new KeptExaminations()

  constructor(settings: TransferSettings) {
    this.#settings = settings
  }

  async open(claim: Claim, ledger: Ledger, signal: AbortSignal): Promise<Transfer> {
    const { targets, way = null } = this.#settings
    requirePlan(claim.pipeline)
    const route = chooseRoute(claim.pipeline, targets, way)
    const shared = { ...this.#shared(new Resources()), claim, ledger, signal }
    try {
      if (route.sink !== null) return await this.#openSink(shared, route.sink)
      return await tableTransfer(await this.#openAttempt(shared, route.way), route.way)
    } catch (error) {
      await shared.resources.close()
      throw databaseError(error, 'Preparing the run', 'target')
    }
  }

  async openGroup(members: readonly GroupMember[], signal: AbortSignal): Promise<GroupTransfer> {
    const { targets, way: forced = null } = this.#settings
    const resources = new Resources()
    const sessions = new GroupSessions(this.#sessions, sessionName(members[0]!.claim))
    const prepared: GroupAttempt[] = []
    try {
      for (const { claim, ledger } of members) {
        const { pipeline } = claim
        const { way } = requireGroupable(claim, () => {
          requirePlan(pipeline)
          return chooseRoute(pipeline, targets, forced)
        })
        if (way !== 'pushdown' && pipeline.sourceConnection === pipeline.targetConnection)
          sessions.shareSnapshot(this.#sourceUrl(pipeline))
        const opened = { sessions: sessions.ofTarget, sourceSessions: sessions.ofSources }
        const shared = { ...this.#shared(resources), ...opened, claim, ledger, signal, inGroup: true }
        const attempt = await this.#openAttempt(shared, way).catch((error) => {
          throw new MemberFailure(claim, databaseError(error, 'Preparing the run', 'target'))
        })
        const open = async () => {
          // Again, in the transaction of the group.
          const isEmpty = await isEmptyTable(attempt.session, attempt.mart)
          return tableTransfer({ ...attempt, isEmpty }, way)
        }
        prepared.push({ claim, batches: batchesOf(attempt), open })
      }
      const target = await sessions.begin()
      return new OpenGroup({ members: prepared, sessions, target, resources })
    } catch (error) {
      await resources.close()
      throw error instanceof MemberFailure ? error : databaseError(error, 'Preparing the run', 'target')
    }
  }

  async openPart(claim: PartClaim, notes: PartNotes, signal: AbortSignal): Promise<PartTransfer> {
    const { pipeline } = claim
    const { targets, way: forced = null } = this.#settings
    const { way, sink } = chooseRoute(pipeline, targets, forced)
    const resources = new Resources()
    const common = { ...this.#shared(resources), claim, notes, signal }
    try {
      if (sink === null)
        return await RunPart.openTable({
          ...common,
          ...this.#tableAddresses(pipeline, way),
          way,
          wanted: (columns) => wantedTable(pipeline, columns, targets),
        })
      const { requireLease } = notes
      return await RunPart.openSink({
        ...common,
        ...this.#sinkAddresses(pipeline),
        openSink: (columns) => openSink(sink, pipeline, { columns, signal, requireLease }),
      })
    } catch (error) {
      await resources.close()
      throw databaseError(error, 'Preparing a part', 'target')
    }
  }

  /** Ends the connections that are kept for the next run. */
  close(): Promise<void> {
    return this.#sessions.close()
  }

  #shared(resources: Resources): Omit<Shared, 'claim' | 'ledger' | 'signal'> {
    const { targets, rules, transforms, writerUrl, signals } = this.#settings
    const log = { mainUrl: writerUrl, signals }
    const kept = { sessions: this.#sessions, examinations: this.#examinations }
    return { ...kept, rules, targets, transforms, log, resources }
  }

  #openAttempt(shared: Shared, way: Way): Promise<Attempt<TargetTable>> {
    const { pipeline } = shared.claim
    return openAttempt(
      { ...shared, ...this.#tableAddresses(pipeline, way) },
      {
        findMart: (session, columns) =>
          findTable(session, wantedTable(pipeline, columns, this.#settings.targets)),
        isEmptyMart: isEmptyTable,
      },
    )
  }

  async #openSink(shared: Shared, kind: SinkKind): Promise<Transfer> {
    const { claim, ledger, signal, resources } = shared
    const { pipeline, runId } = claim
    requireLocal(pipeline)
    const attempt = await openAttempt(
      { ...shared, ...this.#sinkAddresses(pipeline) },
      {
        findMart: async (_session, columns) => {
          const { requireLease } = ledger
          const opened = await openSink(kind, pipeline, { columns, signal, requireLease })
          resources.add(opened.sink)
          return findInSink(opened, pipeline)
        },
        isEmptyMart: async () => false,
      },
    )
    const { columns, batches } = attempt
    const mart = new SinkMart({
      ...attempt.mart,
      target: finalTarget(pipeline),
      columns,
      runId,
      quarantineLimit: pipeline.quarantineLimit,
      refusedSoFar: batches.progress.rows.quarantined,
      checks: attempt.checks.rows,
      session: attempt.session,
    })
    const { parting } = mart
    const cutter = parting === null ? null : await Cutter.open(attempt, new SinkParts(attempt, parting))
    return new RouteTransfer(attempt, new RowsRoute(attempt, mart), { way: 'rows', cutter })
  }

  #tableAddresses(pipeline: Pipeline, way: Way): Addresses {
    const { targetConnection } = pipeline
    return {
      sourceUrl: way === 'pushdown' ? null : this.#sourceUrl(pipeline),
      url: this.#url(targetConnection, this.#settings.writerUrl),
      isMain: targetConnection === null,
      isTransactional: true,
    }
  }

  #sinkAddresses(pipeline: Pipeline): Addresses {
    const url = this.#settings.writerUrl
    return { sourceUrl: this.#sourceUrl(pipeline), url, isMain: true, isTransactional: false }
  }

  #sourceUrl({ sourceConnection }: Pipeline): string {
    return this.#url(sourceConnection, this.#settings.readerUrl)
  }

  #url(connection: string | null, main: string): string {
    return connectionUrl(this.#settings.connections, connection, main)
  }
}

/** The batches of a member of a group. */
function batchesOf({ batches }: Attempt<TargetTable>): GroupBatches {
  if (batches instanceof GroupBatches) return batches
  throw new Error('The batches of a member belong to its group.')
}

async function tableTransfer(attempt: Attempt<TargetTable>, way: Way): Promise<Transfer> {
  if (way === 'rows') {
    const route = new RowsRoute(attempt, await openTableMart(attempt))
    return new RouteTransfer(attempt, route, { way, cutter: await cutterOf(attempt) })
  }
  const route = await SelectionRoute.open(attempt, way)
  return new RouteTransfer(attempt, route, { way, cutter: await cutterOf(attempt) })
}

function openTableMart(attempt: Attempt<TargetTable>): Promise<TableMart> {
  const { session, mart: table, columns, batches, claim, isEmpty } = attempt
  const fromStart = batches.state.position.pass === undefined
  return TableMart.open({
    session,
    table,
    columns,
    brake: claim.pipeline.deleteBrake,
    writing: writingOf(attempt, fromStart && isEmpty),
  })
}

/** A member of a group is one stream: parts have transactions of their own. */
async function cutterOf(attempt: Attempt<TargetTable>): Promise<Cutter | null> {
  return attempt.batches.inGroup ? null : Cutter.open(attempt, new TableParts(attempt))
}
