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
import { type Attempt, type AttemptOptions, type MartFinder, openAttempt, writingOf } from './attempt.js'
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
import { Resources } from './resources.js'
import { chooseRoute } from './routes/choose-route.js'
import { RowsRoute } from './routes/rows.js'
import { SelectionRoute } from './routes/selections.js'
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

type Shared = Pick<
  AttemptOptions,
  | 'claim'
  | 'ledger'
  | 'signal'
  | 'sessions'
  | 'sourceSessions'
  | 'examinations'
  | 'rules'
  | 'targets'
  | 'transforms'
  | 'log'
  | 'resources'
  | 'inGroup'
>

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
      if (route.way !== 'rows') return await this.#openSelections(shared, route.way)
      return await (route.sink === null ? this.#openTable(shared) : this.#openSink(shared, route.sink))
    } catch (error) {
      await shared.resources.close()
      throw databaseError(error, 'Preparing the run', 'target')
    }
  }

  async openGroup(members: readonly GroupMember[], signal: AbortSignal): Promise<GroupTransfer> {
    const { targets, way: forced = null } = this.#settings
    const resources = new Resources()
    const sessions = new GroupSessions(this.#sessions, sessionName(members[0]!.claim))
    const attempts: GroupAttempt[] = []
    try {
      for (const { claim, ledger } of members) {
        const { pipeline } = claim
        const { way } = requireGroupable(claim, () => {
          requirePlan(pipeline)
          return chooseRoute(pipeline, targets, forced)
        })
        const sourceUrl = way === 'pushdown' ? null : this.#sourceUrl(pipeline)
        if (sourceUrl !== null && pipeline.sourceConnection === pipeline.targetConnection)
          sessions.shareSnapshot(sourceUrl)
        const opened = { sessions: sessions.ofTarget, sourceSessions: sessions.ofSources }
        const shared = { ...this.#shared(resources), ...opened, claim, ledger, signal, inGroup: true }
        const attempt = await this.#openAttempt(shared, sourceUrl).catch((error) => {
          throw new MemberFailure(claim, databaseError(error, 'Preparing the run', 'target'))
        })
        const open = async () => {
          // Again, in the transaction of the group.
          const isEmpty = await isEmptyTable(attempt.session, attempt.mart)
          const current = { ...attempt, isEmpty }
          return way === 'rows' ? this.#tableTransfer(current) : selectionTransfer(current, way)
        }
        attempts.push({ claim, batches: batchesOf(attempt), open })
      }
      await sessions.begin()
      return new OpenGroup(attempts, sessions, resources)
    } catch (error) {
      await resources.close()
      throw error instanceof MemberFailure ? error : databaseError(error, 'Preparing the run', 'target')
    }
  }

  async openPart(claim: PartClaim, notes: PartNotes, signal: AbortSignal): Promise<PartTransfer> {
    const { pipeline } = claim
    const { targets, rules, transforms, way: forced = null } = this.#settings
    const { way, sink } = chooseRoute(pipeline, targets, forced)
    const resources = new Resources()
    const common = {
      claim,
      notes,
      signal,
      rules,
      targets,
      transforms,
      resources,
      sessions: this.#sessions,
      examinations: this.#examinations,
      sourceUrl: way === 'pushdown' ? null : this.#sourceUrl(pipeline),
    }
    try {
      if (sink === null)
        return await RunPart.openTable({
          ...common,
          ...this.#inTarget(pipeline),
          way,
          wanted: (columns) => wantedTable(pipeline, columns, targets),
        })
      const { requireLease } = notes
      return await RunPart.openSink({
        ...common,
        url: this.#settings.writerUrl,
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

  async #openSelections(shared: Shared, way: 'pushdown' | 'relay'): Promise<Transfer> {
    const sourceUrl = way === 'pushdown' ? null : this.#sourceUrl(shared.claim.pipeline)
    return selectionTransfer(await this.#openAttempt(shared, sourceUrl), way)
  }

  async #openTable(shared: Shared): Promise<Transfer> {
    return this.#tableTransfer(await this.#openAttempt(shared, this.#sourceUrl(shared.claim.pipeline)))
  }

  #openAttempt(shared: Shared, sourceUrl: string | null): Promise<Attempt<TargetTable>> {
    const { pipeline } = shared.claim
    return openAttempt({ ...shared, sourceUrl, ...this.#inTarget(pipeline) }, this.#table(pipeline))
  }

  async #tableTransfer(attempt: Attempt<TargetTable>): Promise<Transfer> {
    const { session, mart: table, chain, examined, batches, claim, isEmpty } = attempt
    const fromStart = batches.state.position.pass === undefined
    const mart = await TableMart.open({
      session,
      table,
      columns: chain?.columns ?? examined.columns,
      brake: claim.pipeline.deleteBrake,
      writing: writingOf(attempt, fromStart && isEmpty),
    })
    const cutter = await cutterOf(attempt, isEmpty)
    return new RouteTransfer(attempt, new RowsRoute(attempt, mart, isEmpty), { way: 'rows', cutter })
  }

  async #openSink(shared: Shared, kind: SinkKind): Promise<Transfer> {
    const { claim, ledger, signal, resources } = shared
    const { pipeline, runId } = claim
    requireLocal(pipeline)
    const addresses = { sourceUrl: this.#sourceUrl(pipeline), url: this.#settings.writerUrl, isMain: true }
    const attempt = await openAttempt(
      { ...shared, ...addresses, isTransactional: false },
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
    const { chain, examined, batches } = attempt
    const mart = new SinkMart({
      ...attempt.mart,
      target: finalTarget(pipeline),
      columns: chain?.columns ?? examined.columns,
      runId,
      quarantineLimit: pipeline.quarantineLimit,
      refusedSoFar: batches.progress.rows.quarantined,
      checks: attempt.checks.rows,
      session: attempt.session,
    })
    const route = new RowsRoute(attempt, mart, attempt.isNew)
    const { parting } = mart
    const cutter = parting === null ? null : await Cutter.open(attempt, new SinkParts(attempt, parting))
    return new RouteTransfer(attempt, route, { way: 'rows', cutter })
  }

  #table(pipeline: Pipeline): MartFinder<TargetTable> {
    return {
      findMart: (session, columns) =>
        findTable(session, wantedTable(pipeline, columns, this.#settings.targets)),
      isEmptyMart: isEmptyTable,
    }
  }

  #inTarget({ targetConnection }: Pipeline): Pick<AttemptOptions, 'url' | 'isMain' | 'isTransactional'> {
    const url = this.#url(targetConnection, this.#settings.writerUrl)
    return { url, isMain: targetConnection === null, isTransactional: true }
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

async function selectionTransfer(
  attempt: Attempt<TargetTable>,
  way: 'pushdown' | 'relay',
): Promise<Transfer> {
  const route = await SelectionRoute.open(attempt, way)
  return new RouteTransfer(attempt, route, { way, cutter: await cutterOf(attempt, route.isEmpty) })
}

/** A member of a group is one stream: parts have transactions of their own. */
async function cutterOf(attempt: Attempt<TargetTable>, isEmpty: boolean): Promise<Cutter | null> {
  return attempt.batches.inGroup ? null : Cutter.open(attempt, new TableParts(attempt, isEmpty))
}
