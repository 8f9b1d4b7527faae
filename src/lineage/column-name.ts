import type { Tree } from '../guard/index.js'
import { listOf, namesOf, nodeOf } from './tree.js'

/** The name that PostgreSQL gives an unnamed column (FigureColname in its source). */
export function columnName(value: unknown): string {
  return figure(value)?.name ?? '?column?'
}

interface Figured {
  readonly name: string
  /** A weak name is overridden by the cast or the CASE around it. */
  readonly weak: boolean
}

const FIXED: Readonly<Record<string, string>> = {
  CoalesceExpr: 'coalesce',
  GroupingFunc: 'grouping',
  A_ArrayExpr: 'array',
  RowExpr: 'row',
  XmlSerialize: 'xmlserialize',
  JsonParseExpr: 'json',
  JsonScalarExpr: 'json_scalar',
  JsonSerializeExpr: 'json_serialize',
  JsonObjectConstructor: 'json_object',
  JsonArrayConstructor: 'json_array',
  JsonArrayQueryConstructor: 'json_array',
  JsonObjectAgg: 'json_objectagg',
  JsonArrayAgg: 'json_arrayagg',
}

const BY_OPERATION: Readonly<Record<string, string>> = {
  IS_GREATEST: 'greatest',
  IS_LEAST: 'least',
  IS_XMLCONCAT: 'xmlconcat',
  IS_XMLELEMENT: 'xmlelement',
  IS_XMLFOREST: 'xmlforest',
  IS_XMLPARSE: 'xmlparse',
  IS_XMLPI: 'xmlpi',
  IS_XMLROOT: 'xmlroot',
  JSON_EXISTS_OP: 'json_exists',
  JSON_QUERY_OP: 'json_query',
  JSON_VALUE_OP: 'json_value',
}

function figure(value: unknown): Figured | null {
  const { kind, node } = nodeOf(value)
  if (FIXED[kind] !== undefined) return strong(FIXED[kind])
  if (kind === 'ColumnRef' || kind === 'FuncCall') return strong(last(node.fields ?? node.funcname))
  if (kind === 'MinMaxExpr' || kind === 'XmlExpr' || kind === 'JsonFuncExpr')
    return strong(BY_OPERATION[String(node.op)])
  if (kind === 'SQLValueFunction') return strong(timeWord(String(node.op)))
  if (kind === 'A_Expr') return node.kind === 'AEXPR_NULLIF' ? strong('nullif') : null
  if (kind === 'A_Indirection') return strong(last(node.indirection)) ?? figure(node.arg)
  if (kind === 'CollateClause') return figure(node.arg)
  if (kind === 'TypeCast') return orWeak(figure(node.arg), last((node.typeName as Tree)?.names))
  if (kind === 'CaseExpr') return orWeak(figure(node.defresult), 'case')
  return kind === 'SubLink' ? ofSubLink(node) : null
}

function ofSubLink({ subLinkType, subselect }: Tree): Figured | null {
  if (subLinkType === 'EXISTS_SUBLINK') return strong('exists')
  if (subLinkType === 'ARRAY_SUBLINK') return strong('array')
  if (subLinkType !== 'EXPR_SUBLINK') return null
  const first = nodeOf(listOf(nodeOf(subselect).node.targetList)[0]).node
  return first.name === undefined ? figure(first.val) : strong(String(first.name))
}

function orWeak(figured: Figured | null, name: string | undefined): Figured | null {
  if (figured !== null && !figured.weak) return figured
  return name === undefined ? figured : { name, weak: true }
}

function strong(name: string | undefined): Figured | null {
  return name === undefined ? null : { name, weak: false }
}

function last(names: unknown): string | undefined {
  return namesOf(names).at(-1)
}

/** SVFOP_CURRENT_TIMESTAMP_N, with or without digits, is current_timestamp. */
function timeWord(operation: string): string {
  return operation
    .replace(/^SVFOP_/, '')
    .replace(/_N$/, '')
    .toLowerCase()
}
