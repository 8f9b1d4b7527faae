import { constant, lastName } from './constants.js'
import type { Tree } from './parser.js'
import type { TextFindings } from './text-findings.js'
import { arraySize, callSize, textSize, typeSize } from './text-size.js'
import { tablesWrittenOut } from './written-out.js'

/*
 * Queries that are visibly too expensive. Time-outs handle what only shows at run time; here an early rejection is
 * better than an hour of waiting for one.
 */

const MAX_SERIES = 100_000_000
const MAX_TEXT = 10_000_000
const MAX_ELEMENTS = 1_000_000
const MAX_TABLES = 2_000

/** generate_series(1, 1e12), repeat('x', 1000 * 1000 * 540), array_fill(0, '{1e9}'): sizes visible in the text. */
export function checkSize(name: string, args: readonly Tree[], walk: TextFindings): void {
  const rows = name === 'generate_series' ? seriesLength(args) : 0
  if (rows > MAX_SERIES)
    walk.refuse(`generate_series() would produce ${shown(rows)} rows.`, 'Use a shorter series.')
  const size = callSize(name, args)
  if (size > MAX_TEXT)
    walk.refuse(`${name}() would produce a text of ${shown(size)} characters.`, 'Use a shorter text.')
  const elements = name === 'array_fill' ? arraySize(args[1]) : 0
  if (elements > MAX_ELEMENTS)
    walk.refuse(`array_fill() would produce ${shown(elements)} elements.`, 'Use a smaller array.')
}

/** 'x' || repeat('y', …), each part within its limit. */
export function checkOperatorSize(node: Tree, walk: TextFindings): void {
  const size = textSize({ A_Expr: node })
  if (size > MAX_TEXT)
    walk.refuse(`The query would produce a text of ${shown(size)} characters.`, 'Use a shorter text.')
}

/** 1::bit(80000000) */
export function checkTypeSize(node: Tree, walk: TextFindings): void {
  const size = typeSize(node)
  if (size > MAX_TEXT)
    walk.refuse(`A value of this type has ${shown(size)} characters.`, 'Use a shorter type.')
}

/** Aggregates whose result is as long as all their input rows together. */
const GATHERING = new Set(
  'array_agg string_agg json_agg jsonb_agg json_object_agg jsonb_object_agg xmlagg'.split(' '),
)

/** string_agg(repeat('x', 1000), '') over a series of a million. A condition or a group may leave few of the rows. */
export function checkGathered(select: Tree, walk: TextFindings): void {
  if (select.whereClause !== undefined || select.groupClause !== undefined) return
  const rows = ((select.fromClause ?? []) as Tree[]).reduce((all, from) => all * rowsOf(from), 1)
  if (rows === 1) return
  for (const target of (select.targetList ?? []) as Tree[]) {
    const call = ((target.ResTarget as Tree | undefined)?.val as Tree | undefined)?.FuncCall as
      | Tree
      | undefined
    const name = lastName(call?.funcname)
    if (call === undefined || !GATHERING.has(name) || call.agg_filter !== undefined) continue
    const each = ((call.args ?? []) as Tree[]).reduce((all, arg) => all + textSize(arg), 0)
    const size = rows * Math.max(1, each)
    if (size > MAX_TEXT)
      walk.refuse(`${name}() would produce a value of ${shown(size)} characters.`, 'Aggregate fewer rows.')
  }
}

/** A lower bound; 1 for what the text does not show. */
function rowsOf(from: Tree): number {
  const join = from.JoinExpr as Tree | undefined
  if (join !== undefined)
    return join.quals === undefined && join.usingClause === undefined && join.isNatural !== true
      ? rowsOf(join.larg as Tree) * rowsOf(join.rarg as Tree)
      : 1
  const [first] = ((from.RangeFunction as Tree | undefined)?.functions ?? []) as Tree[]
  const [call] = ((first?.List as Tree | undefined)?.items ?? []) as Tree[]
  const series = call?.FuncCall as Tree | undefined
  if (series === undefined || lastName(series.funcname) !== 'generate_series') return 1
  return Math.max(1, seriesLength((series.args ?? []) as Tree[]))
}

function seriesLength(args: readonly Tree[]): number {
  const [from, to, step] = args
  const by = step === undefined ? 1 : constant(step)
  const [first, last] = [constant(from), constant(to)]
  if (first === null || last === null || by === null) return 0
  return Math.floor((last - first) / (by || 1)) + 1
}

/** As an integer, without scientific notation. */
function shown(size: number): string {
  return size < 1e15 ? String(Math.trunc(size)) : 'more than 10^15'
}

/** `WITH RECURSIVE n AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)` without anything that could stop it. */
export function checkEnd(query: Tree, walk: TextFindings): void {
  const select = (query.ctequery as Tree | undefined)?.SelectStmt as Tree | undefined
  const step = select?.rarg as Tree | undefined
  if (
    select?.op !== 'SETOP_UNION' ||
    select.all !== true ||
    step === undefined ||
    query.cycle_clause !== undefined
  )
    return
  const from = (step.fromClause ?? []) as Tree[]
  const itself = from[0]?.RangeVar as Tree | undefined
  if (from.length !== 1 || itself?.schemaname !== undefined || itself?.relname !== query.ctename) return
  const known = new Set(['targetList', 'fromClause', 'limitOption', 'op', 'sortClause'])
  if (!Object.keys(step).every((field) => known.has(field))) return
  // A function may return no rows and so end the recursion.
  if (JSON.stringify(step.targetList).includes('"FuncCall"')) return
  walk.refuse(
    `The WITH RECURSIVE query "${String(query.ctename)}" never ends.`,
    'Add a WHERE that stops it to the part after UNION ALL.',
  )
}

/** More than any real query joins; 2,000 cost the planner 2 s. */
export function checkWrittenOut(statement: Tree, walk: TextFindings): void {
  const tables = tablesWrittenOut(statement)
  if (tables > MAX_TABLES)
    walk.refuse(
      `The expanded query refers to ${tables} tables.`,
      'Use fewer tables, or remove NOT MATERIALIZED from WITH queries that are referenced more than once.',
    )
}

/** An XML entity reads a file or expands without end. PostgreSQL loads none, and no query needs one. */
export function checkConstant(node: Tree, walk: TextFindings): void {
  const text = (node.sval as Tree | undefined)?.sval
  if (typeof text === 'string' && /<!ENTITY/i.test(text))
    walk.refuse('The query defines an XML entity.', 'Write the text itself instead of the entity.')
}

/** A LIMIT or an EXISTS anywhere may stop an endless query. */
export function mayBeCutShort(statement: Tree): boolean {
  return /"(limitCount|EXISTS_SUBLINK)"/.test(JSON.stringify(statement))
}
