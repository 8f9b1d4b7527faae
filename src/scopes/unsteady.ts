import type { Tree } from '../guard/index.js'
import type { QueryFacts } from './query-facts.js'
import { lastNameOf, listOf } from './tree.js'

/** Aggregates whose result shows the order in which rows came. */
const ORDERED: ReadonlySet<string> = new Set(
  `array_agg string_agg json_agg json_agg_strict jsonb_agg jsonb_agg_strict json_object_agg json_object_agg_strict
  jsonb_object_agg jsonb_object_agg_strict xmlagg any_value`.split(/\s+/),
)
/** Sums of floating-point numbers: their last digits show the order. */
const SUMMING: ReadonlySet<string> = new Set(
  `sum avg stddev stddev_pop stddev_samp variance var_pop var_samp corr covar_pop covar_samp regr_avgx regr_avgy
  regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy`.split(/\s+/),
)
const DISTINGUISHING_PEERS: ReadonlySet<string> = new Set(
  'row_number ntile lag lead first_value last_value nth_value'.split(/\s+/),
)
/** PostgreSQL's FRAMEOPTION_ROWS: the frame counts rows, peers or not. */
const ROWS_FRAME = 0x4

/** Whether a window function distinguishes peers: rows that are equal in the ORDER BY of its window. */
export function distinguishesPeers(name: string, over: Tree): boolean {
  return (
    DISTINGUISHING_PEERS.has(name) || (Number(over.frameOptions ?? 0) & ROWS_FRAME) !== 0 || ORDERED.has(name)
  )
}

interface Calls {
  readonly facts: QueryFacts
  /** Whether an argument is certainly not a floating-point number. */
  isExact(argument: Tree): boolean
}

/** Why the result of this call may depend on the plan; null: it does not, or it is a window (`unsteadyWindow`). */
export function unsteadyCall({ facts, isExact }: Calls, kind: string, node: Tree): string | null {
  if (kind === 'JsonArrayAgg' || kind === 'JsonObjectAgg') {
    const call = Object.hasOwn(node, 'constructor') ? (node.constructor as unknown as Tree) : {}
    return call.agg_order === undefined ? unordered('a JSON aggregate') : null
  }
  if (kind !== 'FuncCall') return null
  const name = lastNameOf(node.funcname)
  if (SUMMING.has(name) && facts.floatAggregates.has(name) && !listOf(node.args).every(isExact))
    return `${name}() of floating-point numbers depends on the order of the rows in its last digits.`
  const isSorted = listOf(node.agg_order).length > 0 || node.agg_distinct === true
  return node.over === undefined && ORDERED.has(name) && !isSorted ? unordered(`${name}()`) : null
}

function unordered(name: string): string {
  return `${name} without ORDER BY depends on the order of the rows.`
}
