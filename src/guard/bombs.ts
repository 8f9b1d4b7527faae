import type { Findings } from './findings.js'
import type { Tree } from './parser.js'
import { tablesWrittenOut } from './written-out.js'

/*
 * Queries that cannot end well and say so themselves. What only turns out while running is the business of the
 * time-outs; here a refusal is worth more than an hour of waiting for one.
 */

const MAX_SERIES = 100_000_000
const MAX_TEXT = 10_000_000
const MAX_ELEMENTS = 1_000_000
const MAX_TABLES = 2_000

/** generate_series(1, 1e12), repeat('x', 1e9), array_fill(0, '{1e9}'): sizes that stand in the text. */
export function checkSize(name: string, args: readonly Tree[], walk: Findings): void {
  const numbers = args.map(constant)
  const [first = null, second = null, third = 1] = numbers
  if (name === 'generate_series' && first !== null && second !== null && third !== null) {
    const rows = Math.floor((second - first) / (third || 1)) + 1
    if (rows > MAX_SERIES) walk.refuse(`generate_series() would make ${rows} rows.`, 'Make a shorter series.')
  }
  if (['repeat', 'lpad', 'rpad'].includes(name) && second !== null && second > MAX_TEXT)
    walk.refuse(`${name}() would make a text of ${second} characters.`, 'Make a shorter text.')
  const elements = name === 'array_fill' ? product(args[1]) : 0
  if (elements > MAX_ELEMENTS)
    walk.refuse(`array_fill() would make ${elements} elements.`, 'Make a smaller array.')
}

/** Of the numbers in ARRAY[2, 3] or '{2,3}'; 0 when they cannot be told. */
function product(node: Tree = {}): number {
  const cast = node.TypeCast as Tree | undefined
  if (cast !== undefined) return product(cast.arg as Tree)
  const list = (node.A_ArrayExpr as Tree | undefined)?.elements as Tree[] | undefined
  const text = ((node.A_Const as Tree | undefined)?.sval as Tree | undefined)?.sval
  const sizes = list?.map(constant) ??
    String(text ?? '')
      .match(/\d+/g)
      ?.map(Number) ?? [0]
  return sizes.reduce((all: number, size) => all * (size ?? 0), 1)
}

/** `WITH RECURSIVE n AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)` with nothing that could ever stop it. */
export function checkEnd(query: Tree, walk: Findings): void {
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
  // A function may return no rows, and so end it.
  if (JSON.stringify(step.targetList).includes('"FuncCall"')) return
  walk.refuse(
    `The WITH RECURSIVE query "${String(query.ctename)}" never ends.`,
    'Give the part after UNION ALL a WHERE that stops it.',
  )
}

/** More than anybody joins; 2,000 cost the planner 2 s. */
export function checkWrittenOut(statement: Tree, walk: Findings): void {
  const tables = tablesWrittenOut(statement)
  if (tables > MAX_TABLES)
    walk.refuse(
      `Written out, the query names ${tables} tables.`,
      'Name fewer of them; leave NOT MATERIALIZED away where a WITH query is named more than once.',
    )
}

/** An XML entity is a file to read or a text that grows without end. PostgreSQL loads none; nobody needs to try. */
export function checkConstant(node: Tree, walk: Findings): void {
  const text = (node.sval as Tree | undefined)?.sval
  if (typeof text === 'string' && /<!ENTITY/i.test(text))
    walk.refuse('The query defines an XML entity.', 'Write the text itself instead of the entity.')
}

/** A LIMIT or an EXISTS anywhere may end what has no end of its own. */
export function mayBeCutShort(statement: Tree): boolean {
  return /"(limitCount|EXISTS_SUBLINK)"/.test(JSON.stringify(statement))
}

function constant(node: Tree): number | null {
  const cast = node.TypeCast as Tree | undefined
  if (cast !== undefined) return constant(cast.arg as Tree)
  const minus = node.A_Expr as Tree | undefined
  if (minus?.lexpr === undefined && JSON.stringify(minus?.name ?? '').includes('"-"')) {
    const value = constant(minus?.rexpr as Tree)
    return value === null ? null : -value
  }
  const value = node.A_Const as Tree | undefined
  if (value?.ival !== undefined) return Number((value.ival as Tree).ival ?? 0)
  const text = (value?.fval as Tree | undefined)?.fval ?? (value?.sval as Tree | undefined)?.sval
  return text === undefined || text === '' || Number.isNaN(Number(text)) ? null : Number(text)
}
