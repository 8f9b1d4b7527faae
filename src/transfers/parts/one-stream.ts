import { finalTarget, type Pipeline } from '../../model/pipeline.js'
import type { Session } from '../../postgres/session.js'
import type { Column } from '../../sql/selection.js'
import type { Examined } from '../examine.js'

interface Cuttable {
  readonly pipeline: Pipeline
  readonly examined: Examined
  /** The target takes rows from several runners at the same time. */
  readonly isParted: boolean
}

/** Why the rows of a pipeline are read in one stream whatever its parallelism; null: they can be cut into parts. */
export async function whyOneStream(
  source: Session,
  { pipeline, examined, isParted }: Cuttable,
): Promise<string | null> {
  const { facts, trace, order } = examined
  if (!isParted) return `${finalTarget(pipeline)} accepts rows from one runner at a time only`
  if (pipeline.mode === 'incremental' && trace === null)
    return `an incremental run reads rows in the order of ${order.columns[0]!.name}, and its checkpoint follows them`
  if (facts.limits) return 'the query limits the number of rows, so a range of keys would select other rows'
  if (facts.aggregates) return AGAIN
  if (facts.walksIndex) return null
  if (facts.joins) return AGAIN
  const [first] = order.columns
  return (await hasIndex(source, first!)) ? null : `no index of the source begins with ${first!.name}`
}

const AGAIN = 'the query joins or groups rows, and would be computed again for each part'

/** An index that begins with a column finds the rows of a range of its values. */
async function hasIndex(source: Session, { base }: Column): Promise<boolean> {
  if (base === null) return false
  const found = await source.rows(
    `SELECT 1 AS found FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
      WHERE i.indrelid = $1::oid AND i.indkey[0] = $2 AND i.indpred IS NULL AND i.indisvalid AND m.amname = 'btree'`,
    [base.tableId, base.attribute],
  )
  return found.length > 0
}
