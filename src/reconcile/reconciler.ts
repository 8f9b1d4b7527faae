import { VitrinaError } from '../model/errors.js'
import { type Pipeline, readerQuery, readsTable } from '../model/pipeline.js'
import type { Drift, Proof, Reconciliation } from '../model/reconcile.js'
import type { TargetRules } from '../model/target.js'
import { requirePlan } from '../model/task-plan.js'
import type { QueryGuard } from '../ports/query-guard.js'
import type { ReconcileOptions, Reconciler } from '../ports/reconciler.js'
import type { SinkKind } from '../ports/sink.js'
import type { TransformHosts } from '../ports/transforms.js'
import { connectionUrl } from '../postgres/connection-url.js'
import { inspectionError, onSide } from '../postgres/errors.js'
import { READ_ONLY, Session } from '../postgres/session.js'
import type { Classification, Difference } from './drift-classifier.js'
import { findDrift, recheck } from './find-drift.js'
import { type ReconciledSides, sidesFor } from './reconciled-sides.js'
import type { KeyTexts } from './side.js'

export interface ReconcilerSettings {
  /** Reads the sources, and the marts of the main database. */
  readonly readerUrl: string
  readonly martUrl: string
  readonly guard: QueryGuard
  readonly connections: ReadonlyMap<string, string>
  readonly targets: TargetRules<SinkKind>
  readonly transforms: TransformHosts
}

/** More differing rows are not recorded for a repair: a full run fixes them faster. */
const MOST_REPAIRS = 100_000
/** Number of reported keys of rows that still differ after a repair. */
const PROOF_SAMPLE = 10

/** Compares a mart with the current result of its query. Read-only. */
export class MartReconciler implements Reconciler {
  readonly #settings: ReconcilerSettings

  constructor(settings: ReconcilerSettings) {
    this.#settings = settings
  }

  compare(pipeline: Pipeline, { deep, sampleSize, signal }: ReconcileOptions): Promise<Reconciliation> {
    return this.#between(pipeline, signal, async (sides) => {
      const { source, target, key } = sides
      const controlField = pipeline.incrementalKey ?? key[0]!
      const [there, here] = await Promise.all([source.summary(controlField), target.summary(controlField)])
      const summary = { controlField, source: there, target: here }
      const equal = there.count === here.count && agree(there.min, here.min) && agree(there.max, here.max)
      if (!deep) return { ...summary, matches: equal, deep: null }
      const found = await findDrift(sides)
      return {
        ...summary,
        matches: driftingRows(found).length === 0,
        deep: {
          keyColumns: key,
          missing: sample(found.drift.missing, sampleSize),
          extra: sample(found.drift.extra, sampleSize),
          different: sample(found.drift.different, sampleSize),
          onTheirWay: found.onTheirWay,
          undecided: found.undecided,
        },
      }
    })
  }

  async keysToRepair(pipeline: Pipeline, signal: AbortSignal): Promise<(string | null)[][]> {
    const rows = driftingRows(await this.#between(pipeline, signal, findDrift))
    if (rows.length > MOST_REPAIRS) {
      throw new VitrinaError(
        'REQUEST_INVALID',
        `${rows.length} rows differ, more than one repair can fix (${MOST_REPAIRS}).`,
        'Run the pipeline in full instead.',
      )
    }
    return rows.map((row) => [...row.key])
  }

  async prove(pipeline: Pipeline, keys: readonly KeyTexts[], signal: AbortSignal): Promise<Proof> {
    // The run that asks is in progress, but it has already written these rows.
    const settled = { ...pipeline, status: 'IDLE' } as const
    const found = await this.#between(settled, signal, (sides) => recheck(sides, keys))
    const differing = driftingRows(found)
    const { onTheirWay } = found
    return {
      agree: keys.length - differing.length - onTheirWay,
      onTheirWay,
      differ: differing.length,
      keys: sample(differing, PROOF_SAMPLE).keys,
    }
  }

  async #between<T>(
    pipeline: Pipeline,
    signal: AbortSignal,
    compare: (sides: ReconciledSides) => Promise<T>,
  ): Promise<T> {
    requirePlan(pipeline)
    const { connections, readerUrl, martUrl } = this.#settings
    const closing: (() => Promise<unknown>)[] = []
    const open = async (connection: string | null, otherwise: string) => {
      const url = connectionUrl(connections, connection, otherwise)
      const session = await Session.open(url, 'vitrina-reconcile', signal)
      closing.push(() => session.close())
      await session.run(`${READ_ONLY}; SET statement_timeout = '10min'`)
      return session
    }
    try {
      const source = await onSide('source', 'Connecting to the source', () =>
        open(pipeline.sourceConnection, readerUrl),
      )
      const target = await open(pipeline.targetConnection, martUrl)
      const main = pipeline.targetConnection === null ? target : await open(null, martUrl)
      const query = await this.#settings.guard.textToRun(readerQuery(pipeline), source, {
        isDerived: readsTable(pipeline),
      })
      const sides = await sidesFor({ source, target, main, pipeline, query, signal, closing }, this.#settings)
      const inOneSnapshot = <R>(work: () => Promise<R>) => readAtOnce(source, work)
      return await compare({ ...sides, inOneSnapshot })
    } catch (error) {
      throw inspectionError(error, 'Comparing the mart with its source', 'target')
    } finally {
      for (const close of closing.reverse()) await close()
    }
  }
}

/** Everything that this session reads during `work` is read in one snapshot. */
async function readAtOnce<T>(session: Session, work: () => Promise<T>): Promise<T> {
  await session.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  try {
    return await work()
  } finally {
    await session.run('ROLLBACK')
  }
}

/** A server that cannot order such values reports none. */
function agree(there: string | null, here: string | null): boolean {
  return there === here || here === null
}

function driftingRows({ drift }: Classification): Difference[] {
  return [...drift.missing, ...drift.extra, ...drift.different]
}

function sample(rows: readonly Difference[], size: number): Drift {
  return { count: rows.length, keys: rows.slice(0, size).map((row) => row.key) }
}
