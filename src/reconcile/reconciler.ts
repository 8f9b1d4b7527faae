import { VitrinaError } from '../model/errors.js'
import { finalTarget, type Pipeline, readerQuery } from '../model/pipeline.js'
import type { Reconciliation } from '../model/reconcile.js'
import type { QueryJudge } from '../ports/query-judge.js'
import type { ReconcileOptions, Reconciler } from '../ports/reconciler.js'
import { connectionUrl } from '../postgres/connections.js'
import { databaseError } from '../postgres/errors.js'
import { READ_ONLY, Session } from '../postgres/session.js'
import { findTarget } from '../sinks/postgres/target.js'
import { describeQuery } from '../sources/postgres/describe.js'
import { asRelation, beyond, type Column } from '../sql/selection.js'
import { type Differences, findDrift } from './compare.js'
import { Side } from './side.js'

export interface ReconcilerSettings {
  /** Reads the sources, and the marts of the main database. */
  readonly readerUrl: string
  readonly martUrl: string
  readonly judge: QueryJudge
  readonly connections: ReadonlyMap<string, string>
}

/** More keys than this are not written down for a repair: a full run mends them faster. */
const MOST_REPAIRS = 100_000

/** Compares a mart with what its query says now. Reads only. */
export class PostgresReconciler implements Reconciler {
  readonly #settings: ReconcilerSettings

  constructor(settings: ReconcilerSettings) {
    this.#settings = settings
  }

  async compare(pipeline: Pipeline, options: ReconcileOptions): Promise<Reconciliation> {
    return (await this.#compare(pipeline, options)).reconciliation
  }

  async keysToRepair(pipeline: Pipeline, options: ReconcileOptions): Promise<(string | null)[][]> {
    const { differences } = await this.#compare(pipeline, { ...options, deep: true })
    const rows = [...differences.missing, ...differences.extra, ...differences.different]
    if (rows.length > MOST_REPAIRS) {
      throw new VitrinaError(
        'REQUEST_INVALID',
        `${rows.length} rows differ, more than a repair mends (${MOST_REPAIRS}).`,
        'Run the pipeline in full instead.',
      )
    }
    return rows.map((row) => [...row.key])
  }

  async #compare(
    pipeline: Pipeline,
    options: ReconcileOptions,
  ): Promise<{ reconciliation: Reconciliation; differences: Differences }> {
    const { signal } = options
    const { connections, readerUrl, martUrl } = this.#settings
    const source = await Session.open(
      connectionUrl(connections, pipeline.sourceConnection, readerUrl),
      'vitrina-reconcile',
      signal,
    )
    try {
      const target = await Session.open(
        connectionUrl(connections, pipeline.targetConnection, martUrl),
        'vitrina-reconcile',
        signal,
      )
      try {
        for (const session of [source, target])
          await session.run(`${READ_ONLY}; SET statement_timeout = '10min'`)
        return await this.#between(source, target, pipeline, options)
      } finally {
        await target.close()
      }
    } catch (error) {
      throw databaseError(error, 'Comparing the mart with its source')
    } finally {
      await source.close()
    }
  }

  async #between(
    source: Session,
    target: Session,
    pipeline: Pipeline,
    options: ReconcileOptions,
  ): Promise<{ reconciliation: Reconciliation; differences: Differences }> {
    const query = await this.#settings.judge.textToRun(readerQuery(pipeline), source)
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
    const left = new Side({
      session: source,
      relation: asRelation(query),
      columns: compared,
      key,
    })
    const right = new Side({ session: target, relation: table.quoted, columns: compared, key })
    const controlField = pipeline.incrementalKey ?? table.key[0]!
    const [there, here] = await Promise.all([left.summary(controlField), right.summary(controlField)])
    const equal = there.count === here.count && there.min === here.min && there.max === here.max
    const summary = { controlField, source: there, target: here }
    if (!options.deep)
      return {
        reconciliation: { ...summary, matches: equal, deep: null },
        differences: { missing: [], extra: [], different: [] },
      }
    const { drift, confirmed } = await findDrift(left, right, {
      keyColumns: table.key,
      arrived: arrivedCondition(pipeline, columns, options),
      sampleSize: options.sampleSize,
    })
    const matches = drift.missing.count + drift.extra.count + drift.different.count === 0
    return { reconciliation: { ...summary, matches, deep: drift }, differences: confirmed }
  }
}

/** Rows beyond the checkpoint of an incremental pipeline have not been read yet: they are on their way. */
function arrivedCondition(
  pipeline: Pipeline,
  columns: readonly Column[],
  { checkpoint }: ReconcileOptions,
): string | null {
  if (pipeline.mode !== 'incremental' || pipeline.capture !== 'key' || checkpoint === null) return null
  const names = [pipeline.incrementalKey, ...(checkpoint.length > 1 ? [pipeline.incrementalIdKey] : [])]
  const order = names.flatMap((name) => columns.filter((column) => column.name === name))
  return order.length === checkpoint.length
    ? beyond({ columns: order }, '<=', checkpoint)
    : beyond({ columns: order }, '<=', checkpoint.slice(0, order.length))
}
