import type { Tree } from '../guard/index.js'
import { listOf, walk } from './tree.js'
import { Untraceable } from './untraceable.js'

/** A function that the query calls, as pg_proc describes it. */
export interface UsedFunction {
  readonly name: string
  readonly schema: string
  /** pg_proc.provolatile and prokind */
  readonly volatility: string
  readonly kind: string
  readonly takesFloat: boolean
  readonly returnsRows: boolean
  /** As format_type writes it; null: it depends on the arguments, or is a row. */
  readonly result: string | null
}

/**
 * STABLE functions of pg_catalog that depend on their arguments and on settings only (time zone, styles of dates and
 * numbers), or are STABLE because the output of some type is. Vitrina's sessions fix those settings, so that the result
 * of a row changes only with the row. Missing on purpose: now() and functions like it, age() of one argument, and what
 * depends on a setting that is not fixed, such as to_tsvector(text).
 */
const STEADY: ReadonlySet<string> = new Set(
  `anytextcat array_to_json array_to_string concat concat_ws convert convert_from convert_to date date_add date_part
  date_subtract date_trunc extract format generate_series in_range interval_pl_timestamptz json_agg json_agg_strict
  json_build_array json_build_object json_object_agg json_object_agg_strict json_object_agg_unique
  json_object_agg_unique_strict json_populate_record json_populate_recordset json_to_record json_to_recordset jsonb_agg
  jsonb_agg_strict jsonb_build_array jsonb_build_object jsonb_object_agg jsonb_object_agg_strict
  jsonb_object_agg_unique jsonb_object_agg_unique_strict jsonb_path_exists_tz jsonb_path_match_tz
  jsonb_path_query_array_tz jsonb_path_query_first_tz jsonb_path_query_tz jsonb_populate_record
  jsonb_populate_record_valid jsonb_populate_recordset jsonb_to_record jsonb_to_recordset length make_timestamptz money
  numeric overlaps quote_literal quote_nullable row_to_json textanycat time timestamp timestamptz
  timestamptz_mi_interval timestamptz_pl_interval timezone to_char to_date to_json to_jsonb to_number
  to_timestamp`.split(/\s+/),
)
/** Comparisons of a date or a timestamp with a timestamptz: by the time zone. */
const STEADY_COMPARISON =
  /^(date|timestamp)_(cmp|eq|ge|gt|le|lt|ne)_timestamptz$|^timestamptz_(cmp|eq|ge|gt|le|lt|ne)_/

/** What the server's own tree of the query shows, as sentences. */
export function obstaclesIn(used: {
  readonly functions: readonly UsedFunction[]
  readonly systemColumns: boolean
}): string[] {
  const unsteady = used.functions.filter((each) => !isSteady(each))
  return [
    ...unsteady.map(
      ({ name, volatility }) =>
        `${name}() is ${volatility === 'v' ? 'VOLATILE' : 'STABLE'}: its result can change while the rows stay the same.`,
    ),
    ...(used.systemColumns ? ['The query reads a system column, such as ctid or xmin.'] : []),
  ]
}

function isSteady({ name, schema, volatility }: UsedFunction): boolean {
  if (volatility === 'i') return true
  if (volatility !== 's' || schema !== 'pg_catalog') return false
  return STEADY.has(name) || STEADY_COMPARISON.test(name)
}

/** Node kinds that no key query can follow, wherever they are. */
const REFUSED: Readonly<Record<string, string>> = {
  RangeTableSample: 'TABLESAMPLE picks rows by their place in the table.',
  RangeTableFunc: 'XMLTABLE cannot be followed.',
  JsonTable: 'JSON_TABLE cannot be followed.',
  CurrentOfExpr: 'CURRENT OF cannot be followed.',
}

/** Throws for what the text of a query or a view shows: the clock, sampling. */
export function requireRepeatable(statement: Tree): void {
  walk(statement, (kind, node) => {
    const refused = REFUSED[kind]
    if (refused !== undefined) throw new Untraceable(refused)
    if (kind === 'SQLValueFunction')
      throw new Untraceable(
        `The query uses ${sqlName(String(node.op))}, which changes while the rows stay the same.`,
      )
    return true
  })
}

/** Throws for what one SELECT shows: locks, recursion. */
export function requirePlain(select: Tree): void {
  if (listOf(select.lockingClause).length > 0)
    throw new Untraceable('The query locks rows (FOR UPDATE or FOR SHARE).')
  const clause = select.withClause as Tree | undefined
  if (clause?.recursive === true) throw new Untraceable('The query uses WITH RECURSIVE.')
}

/** `CURRENT_DATE` of `SVFOP_CURRENT_DATE` */
function sqlName(op: string): string {
  return op.replace(/^SVFOP_/, '').replace(/_N$/, '')
}
