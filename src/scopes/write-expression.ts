import type { Tree } from '../guard/index.js'
import { quoteIdentifier, quoteLiteral } from '../sql/identifiers.js'
import type { BaseColumn } from './alternative.js'
import { listOf, namesOf, nodeOf } from './tree.js'

type WriteColumn = (use: BaseColumn) => string

class Unwritable extends Error {}

/**
 * SQL text of an expression over base columns; null for one with a node that is not listed here. That makes a column
 * opaque, which is always safe: so this knows only what is common in keys, groups and joins.
 */
export function writeExpression(node: Tree, column: WriteColumn): string | null {
  try {
    return write(node, column)
  } catch (error) {
    if (error instanceof Unwritable) return null
    throw error
  }
}

/** A text by which two expressions over the same occurrences can be compared. */
export function expressionText(node: Tree): string | null {
  return writeExpression(node, ({ occurrence, column }) => `o${occurrence}.${quoteIdentifier(column)}`)
}

function write(value: unknown, column: WriteColumn): string {
  const { kind, node } = nodeOf(value)
  const writer = WRITERS[kind]
  if (writer === undefined) throw new Unwritable()
  return writer(node, column)
}

function writeList(values: unknown, column: WriteColumn): string {
  return listOf(values)
    .map((each) => write(each, column))
    .join(', ')
}

const WRITERS: Readonly<Record<string, (node: Tree, column: WriteColumn) => string>> = {
  BaseColumn: (node, column) => column(node as unknown as BaseColumn),
  A_Const: constant,
  TypeCast: (node, column) => `(${write(node.arg, column)})::${typeText(node.typeName as Tree)}`,
  CollateClause: (node, column) => `(${write(node.arg, column)} COLLATE ${qualified(node.collname)})`,
  A_Expr: operator,
  BoolExpr: boolean,
  NullTest: (node, column) =>
    `(${write(node.arg, column)} IS ${node.nulltesttype === 'IS_NULL' ? '' : 'NOT '}NULL)`,
  CoalesceExpr: (node, column) => `COALESCE(${writeList(node.args, column)})`,
  MinMaxExpr: (node, column) =>
    `${node.op === 'IS_LEAST' ? 'LEAST' : 'GREATEST'}(${writeList(node.args, column)})`,
  CaseExpr: caseExpression,
  A_ArrayExpr: (node, column) => `ARRAY[${writeList(node.elements, column)}]`,
  FuncCall: call,
}

function constant(node: Tree): string {
  if (node.isnull === true) return 'NULL'
  // protobuf leaves out what is zero, false or empty.
  if (node.ival !== undefined) return `(${Number((node.ival as Tree).ival ?? 0)})`
  if (node.fval !== undefined) return `(${String((node.fval as Tree).fval ?? 0)})`
  if (node.boolval !== undefined) return (node.boolval as Tree).boolval === true ? 'true' : 'false'
  if (node.sval !== undefined) return quoteLiteral(String((node.sval as Tree).sval ?? ''))
  throw new Unwritable()
}

function operator(node: Tree, column: WriteColumn): string {
  const right = write(node.rexpr, column)
  if (node.lexpr === undefined) return `(${operatorName(node.name)} ${right})`
  const left = write(node.lexpr, column)
  switch (node.kind) {
    case 'AEXPR_OP':
      return `(${left} ${operatorName(node.name)} ${right})`
    case 'AEXPR_OP_ANY':
      return `(${left} ${operatorName(node.name)} ANY (${right}))`
    case 'AEXPR_DISTINCT':
      return `(${left} IS DISTINCT FROM ${right})`
    case 'AEXPR_NOT_DISTINCT':
      return `(${left} IS NOT DISTINCT FROM ${right})`
    case 'AEXPR_NULLIF':
      return `NULLIF(${left}, ${right})`
    default:
      throw new Unwritable()
  }
}

function operatorName(list: unknown): string {
  const names = namesOf(list)
  const sign = names.pop() ?? ''
  if (!/^[-+*/<>=~!@#%^&|`?]+$/.test(sign)) throw new Unwritable()
  return `OPERATOR(${[...(names.length === 0 ? ['pg_catalog'] : names)].map(quoteIdentifier).join('.')}.${sign})`
}

function boolean(node: Tree, column: WriteColumn): string {
  if (node.boolop === 'NOT_EXPR') return `(NOT ${writeList(node.args, column)})`
  const parts = listOf(node.args).map((each) => write(each, column))
  return `(${parts.join(node.boolop === 'AND_EXPR' ? ' AND ' : ' OR ')})`
}

function caseExpression(node: Tree, column: WriteColumn): string {
  const subject = node.arg === undefined ? '' : ` ${write(node.arg, column)}`
  const branches = listOf(node.args).map((each) => {
    const { node: when } = nodeOf(each)
    return ` WHEN ${write(when.expr, column)} THEN ${write(when.result, column)}`
  })
  const otherwise = node.defresult === undefined ? '' : ` ELSE ${write(node.defresult, column)}`
  return `(CASE${subject}${branches.join('')}${otherwise} END)`
}

/** Fields that make a call more than a function of its arguments, or that need a syntax of their own. */
const MORE_THAN_A_CALL = [
  'over',
  'agg_order',
  'agg_filter',
  'agg_within_group',
  'agg_star',
  'agg_distinct',
  'func_variadic',
]

function call(node: Tree, column: WriteColumn): string {
  if (MORE_THAN_A_CALL.some((field) => node[field] !== undefined)) throw new Unwritable()
  return `${qualified(node.funcname)}(${writeList(node.args, column)})`
}

/** Names without a schema are those of pg_catalog: the server wrote the text with an empty search_path. */
function qualified(list: unknown): string {
  const names = namesOf(list)
  return (names.length === 1 ? ['pg_catalog', ...names] : names).map(quoteIdentifier).join('.')
}

function typeText(type: Tree): string {
  const modifiers = listOf(type.typmods).map((each) => {
    const { kind, node } = nodeOf(each)
    if (kind !== 'A_Const' || node.ival === undefined) throw new Unwritable()
    return Number((node.ival as Tree).ival ?? 0)
  })
  const name = qualified(type.names)
  // Its modifier is a mask of fields, which has no spelling of this kind.
  if (modifiers.length > 0 && name === '"pg_catalog"."interval"') throw new Unwritable()
  const arrays = '[]'.repeat(listOf(type.arrayBounds).length)
  return `${name}${modifiers.length === 0 ? '' : `(${modifiers.join(', ')})`}${arrays}`
}
