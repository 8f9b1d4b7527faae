import type { Signals } from '../../capture/index.js'
import type { CheckpointState } from '../../checkpoints/checkpoint.js'
import { type Claim, sessionName } from '../../model/claim.js'
import type { Pipeline } from '../../model/pipeline.js'
import { onSide } from '../../postgres/errors.js'
import type { SessionOpener } from '../../postgres/kept-sessions.js'
import type { Session } from '../../postgres/session.js'
import type { SweepFrom } from '../../sources/postgres/changes.js'
import { Horizon, type SourceClock } from '../../sources/postgres/horizon.js'
import type { Examined } from '../examine.js'
import { CapturedChanges, factsOfLog, type LogFacts } from './captured-changes.js'
import { type ChangeSource, mostEntries } from './change-source.js'
import { ModifiedColumns } from './modified-columns.js'
import { RowVersions } from './row-versions.js'

/** How to reach the change logs of the sources. */
export interface LogAccess {
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
  readonly log: LogAccess
  /** Null: the server does not reveal it. */
  readonly moment: SweepFrom | null
  readonly clock: SourceClock
  /** Those of `readLogFacts`. */
  readonly logFacts: LogFacts | null
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
  const most = mostEntries(facts)
  if (pipeline.capture === 'xmin')
    return RowVersions.open(source, trace, { last: state.position.xmin ?? null, most })
  if (pipeline.capture === 'wal') return openLog(parts, trace)
  const [key] = modified
  if (!trace.trace.traced || trace.followed === null || key === undefined) return null
  const horizon = new Horizon({
    session: source,
    key,
    relations: facts.relations,
    self: sessionName(claim),
    clock,
    mayLag: true,
  })
  return new ModifiedColumns({
    source,
    trace: trace.trace,
    followed: trace.followed,
    key,
    horizon,
    most,
    state,
  })
}

async function openLog(
  { claim, source, sourceUrl, url, examined, state, log, moment, signal, resources, logFacts }: ChangesParts,
  trace: NonNullable<Examined['trace']>,
): Promise<ChangeSource> {
  if (logFacts === null || trace.alwaysFull !== null) return everyRun(trace.alwaysFull ?? '')
  return resources.add(
    await CapturedChanges.open(
      {
        source,
        trace,
        signal,
        signals: log.signals,
        mostEntries: mostEntries(examined.facts),
        showsMoments: moment !== null,
        pipelineId: claim.pipeline.id,
        connection: logOf(claim.pipeline),
        sourceUrl: sourceUrl ?? url,
        last: state.position.wal ?? null,
      },
      logFacts,
    ),
  )
}

/** Connects to the change log, and reads what it knows about the pipeline; null: the pipeline does not read a log. */
export async function readLogFacts({
  claim: { pipeline },
  examined: { trace },
  log,
  signal,
  sessions,
  resources,
}: Pick<
  ChangesParts,
  'claim' | 'examined' | 'log' | 'signal' | 'sessions' | 'resources'
>): Promise<LogFacts | null> {
  if (trace === null || pipeline.capture !== 'wal' || trace.alwaysFull !== null) return null
  log.signals.start()
  return onSide('meta store', 'Connecting to the change log', async () => {
    const main = resources.add(
      await sessions.open(log.mainUrl, { name: 'vitrina-changes', purpose: 'log' }, signal),
    )
    return factsOfLog(main, { connection: logOf(pipeline), pipelineId: pipeline.id, trace })
  })
}

/** The name of the source's connection. */
function logOf({ sourceConnection }: Pipeline): string {
  return sourceConnection?.toLowerCase() ?? 'main'
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
