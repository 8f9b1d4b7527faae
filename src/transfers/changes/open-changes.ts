import type { Signals } from '../../capture/index.js'
import { type Claim, sessionName } from '../../model/claim.js'
import type { SessionOpener } from '../../postgres/kept-sessions.js'
import type { Session } from '../../postgres/session.js'
import type { SweepFrom } from '../../sources/postgres/changes.js'
import { Horizon, type SourceClock } from '../../sources/postgres/horizon.js'
import type { CheckpointState } from '../batch.js'
import type { Examined } from '../examine.js'
import { CapturedChanges } from './captured-changes.js'
import type { ChangeSource } from './change-source.js'
import { ModifiedColumns } from './modified-columns.js'
import { RowVersions } from './row-versions.js'

/** Where the change logs of the sources are. */
export interface ChangeLog {
  readonly mainUrl: string
  readonly signals: Signals
}

interface ChangesParts {
  readonly claim: Claim
  readonly source: Session
  readonly sourceUrl: string | null
  readonly url: string
  readonly examined: Examined
  readonly state: CheckpointState
  readonly log: ChangeLog
  /** Null: the server does not reveal it. */
  readonly moment: SweepFrom | null
  readonly clock: SourceClock
  readonly signal: AbortSignal
  readonly sessions: SessionOpener
  readonly resources: { add<R extends { close(): Promise<unknown> }>(resource: R): R }
}

/** Null: rows are read in the order of a key, or all of them. */
export async function openChanges(parts: ChangesParts): Promise<ChangeSource | null> {
  const { claim, source, examined, state, clock } = parts
  const { trace, facts, modified } = examined
  if (trace === null) return null
  const { pipeline } = claim
  if (pipeline.capture === 'xmin') return RowVersions.open(source, trace, state.position.xmin ?? null)
  if (pipeline.capture === 'wal') return openLog(parts, trace)
  if (!trace.trace.traced || trace.followed === null) return null
  const key = modified[0]!
  const horizon = new Horizon({
    session: source,
    key,
    relations: facts.relations,
    self: sessionName(claim),
    clock,
  })
  return new ModifiedColumns({ source, trace: trace.trace, followed: trace.followed, key, horizon, state })
}

async function openLog(
  { claim, source, sourceUrl, url, state, log, moment, signal, sessions, resources }: ChangesParts,
  trace: NonNullable<Examined['trace']>,
): Promise<ChangeSource> {
  const { pipeline } = claim
  if (trace.alwaysFull !== null) return everyRun(trace.alwaysFull)
  return resources.add(
    await CapturedChanges.open({
      ...{ source, trace, signal, sessions },
      ...log,
      showsMoments: moment !== null,
      pipelineId: pipeline.id,
      connection: pipeline.sourceConnection?.toLowerCase() ?? 'main',
      sourceUrl: sourceUrl ?? url,
      last: state.position.wal ?? null,
    }),
  )
}

/** The rows may differ although no table has changed. */
function everyRun(reason: string): ChangeSource {
  return {
    isFirst: false,
    heldBack: null,
    waitForChanges: null,
    first: async () => ({}),
    prepare: async () => {},
    read: async () => ({ full: reason, tables: new Map(), next: {} }),
    applied: async () => {},
  }
}
