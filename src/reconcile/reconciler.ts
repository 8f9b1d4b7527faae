import { VitrinaError } from '../model/errors.js'
import { finalTarget, type Pipeline, readerQuery } from '../model/pipeline.js'
import type { Drift, Proof, Reconciliation } from '../model/reconcile.js'
import type { QueryJudge } from '../ports/query-judge.js'
import type { ReconcileOptions, Reconciler } from '../ports/reconciler.js'
import { connectionUrl } from '../postgres/connections.js'
import { databaseError } from '../postgres/errors.js'
import { READ_ONLY, Session } from '../postgres/session.js'
import { findTarget } from '../sinks/postgres/target.js'
import { describeQuery } from '../sources/postgres/describe.js'
import { asRelation } from '../sql/selection.js'
import { findDrift, lookAgain, type Parties } from './compare.js'
import { Court } from './court.js'
import type { Difference, Verdict } from './judge.js'
import { type KeyTexts, Side } from './side.js'

export interface ReconcilerSettings {
  /** Reads the sources, and the marts of the main database. */
  readonly readerUrl: string
  readonly martUrl: string
  readonly judge: QueryJudge
  readonly connections: ReadonlyMap<string, string>
}

/** More keys than this are not written down for a repair: a full run mends them faster. */
const MOST_REPAIRS = 100_000
/** So many keys of rows that a repair could not mend are told. */
const PROOF_SAMPLE = 10

interface Sides extends Parties {
  readonly key: readonly string[]
}

/** Compares a mart with what its query says now. Reads only. */
export class PostgresReconciler implements Reconciler {
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
      const equal = there.count === here.count && there.min === here.min && there.max === here.max
      if (!deep) return { ...summary, matches: equal, deep: null }
      const verdict = await findDrift(sides)
      return {
        ...summary,
        matches: driftingRows(verdict).length === 0,
        deep: {
          keyColumns: key,
          missing: sample(verdict.drift.missing, sampleSize),
          extra: sample(verdict.drift.extra, sampleSize),
          different: sample(verdict.drift.different, sampleSize),
          onTheirWay: verdict.onTheirWay,
          undecided: verdict.undecided,
        },
      }
    })
  }

  async keysToRepair(pipeline: Pipeline, signal: AbortSignal): Promise<(string | null)[][]> {
    const rows = driftingRows(await this.#between(pipeline, signal, findDrift))
    if (rows.length > MOST_REPAIRS) {
      throw new VitrinaError(
        'REQUEST_INVALID',
        `${rows.length} rows differ, more than a repair mends (${MOST_REPAIRS}).`,
        'Run the pipeline in full instead.',
      )
    }
    return rows.map((row) => [...row.key])
  }

  async prove(pipeline: Pipeline, keys: readonly KeyTexts[], signal: AbortSignal): Promise<Proof> {
    // The run that asks is under way, but not on its way to these rows any more.
    const settled = { ...pipeline, status: 'IDLE' } as const
    const verdict = await this.#between(settled, signal, (sides) => lookAgain(sides, keys))
    const differing = driftingRows(verdict)
    const { onTheirWay } = verdict
    return {
      agree: keys.length - differing.length - onTheirWay,
      onTheirWay,
      differ: differing.length,
      keys: sample(differing, PROOF_SAMPLE).keys,
    }
  }

  async #between<T>(pipeline: Pipeline, signal: AbortSignal, look: (sides: Sides) => Promise<T>): Promise<T> {
    const { connections, readerUrl, martUrl } = this.#settings
    const opened: Session[] = []
    const open = async (connection: string | null, otherwise: string) => {
      const url = connectionUrl(connections, connection, otherwise)
      const session = await Session.open(url, 'vitrina-reconcile', signal)
      opened.push(session)
      await session.run(`${READ_ONLY}; SET statement_timeout = '10min'`)
      return session
    }
    try {
      const source = await open(pipeline.sourceConnection, readerUrl)
      const target = await open(pipeline.targetConnection, martUrl)
      const query = await this.#settings.judge.textToRun(readerQuery(pipeline), source)
      return await look(await sidesOf(source, target, pipeline, query))
    } catch (error) {
      throw databaseError(error, 'Comparing the mart with its source')
    } finally {
      await Promise.all(opened.map((session) => session.close()))
    }
  }
}

async function sidesOf(source: Session, target: Session, pipeline: Pipeline, query: string): Promise<Sides> {
  const columns = await describeQuery(source, query)
  const table = await findTarget(target, finalTarget(pipeline), columns, pipeline.keyColumns)
  if (table === null) {
    throw new VitrinaError(
      'TARGET_MISMATCH',
      `${finalTarget(pipeline)} does not exist yet.`,
      'Run the pipeline once, then compare.',
    )
  }
  const compared = table.columns.map((column, index) => ({ name: column.name, type: table.types[index]! }))
  const key = table.key.map((name) => compared.find((column) => column.name === name)!)
  const court = new Court({ source, target, pipeline, query, columns, table, key })
  return {
    source: new Side({ session: source, relation: asRelation(query), columns: compared, key }),
    target: new Side({ session: target, relation: table.quoted, columns: compared, key }),
    judge: () => court.sit(),
    key: table.key,
  }
}

function driftingRows({ drift }: Verdict): Difference[] {
  return [...drift.missing, ...drift.extra, ...drift.different]
}

function sample(rows: readonly Difference[], size: number): Drift {
  return { count: rows.length, keys: rows.slice(0, size).map((row) => row.key) }
}
