import { checkConstant, checkGathered, checkOperatorSize, checkSize, checkTypeSize } from './bombs.js'
import { ALLOWED_FUNCTIONS, reasonAgainst, TIME_WORDS } from './functions.js'
import { isKnownType, SAMPLING } from './known-types.js'
import type { Names } from './name-scope.js'
import type { Tree } from './parser.js'
import type { TextFindings } from './text-findings.js'

type NodeCheck = (node: Tree, walk: TextFindings, scope: Names) => void

/** Requirements of a node beyond its kind being allowed. */
export const STRUCTURE_CHECKS: Readonly<Record<string, NodeCheck>> = {
  RangeVar: checkRelation,
  FuncCall: (node, walk) => checkFunction(node, walk),
  TypeName: checkType,
  A_Expr: (node, walk) => {
    checkOperator(names(node.name), walk)
    checkOperatorSize(node, walk)
  },
  SelectStmt: (node, walk) => checkGathered(node, walk),
  SubLink: (node, walk) => checkOperator(names(node.operName), walk),
  SortBy: (node, walk) => checkOperator(names(node.useOp), walk),
  A_Const: checkConstant,
  A_Indirection: checkIndirection,
  CollateClause: (node, walk) => checkCollation(names(node.collname), walk),
  RangeTableSample: (node, walk) => checkSampling(names(node.method), walk),
  SQLValueFunction: checkValueFunction,
}

function checkRelation(node: Tree, walk: TextFindings, scope: Names): void {
  const table = String(node.relname)
  const schema = node.schemaname === undefined ? null : String(node.schemaname)
  const allowed = walk.rules.sourceSchemas
  if (schema === null && scope.find(table) !== null) return
  if (schema === null && !table.startsWith('pg_')) {
    const example = allowed[0] === undefined ? '' : `, for example ${allowed[0]}.${table}`
    walk.refuse(
      `"${table}" is neither a WITH query nor a table with its schema.`,
      `Write schema.table${example}.`,
    )
  } else if (schema === null || isSystemSchema(schema) || !allowed.includes(schema)) {
    walk.refuse(`${schema ?? 'pg_catalog'}.${table} may not be read.`, allowedHint(allowed))
  } else {
    walk.names({ schema, table })
  }
}

/** Never allowed, even if listed in ALLOWED_SOURCE_SCHEMAS: system catalogs are not a source. */
export function isSystemSchema(schema: string): boolean {
  return schema.startsWith('pg_') || schema === 'information_schema'
}

export function allowedHint(schemas: readonly string[]): string {
  const list = schemas.filter((schema) => !isSystemSchema(schema))
  return `A source query may read ${list.map((schema) => `${schema}.*`).join(' and ') || 'nothing'}: ALLOWED_SOURCE_SCHEMAS=${schemas.join(',')}.`
}

function checkFunction(node: Tree, walk: TextFindings): void {
  const [name = '', schema = 'pg_catalog', ...more] = names(node.funcname).reverse()
  if (schema !== 'pg_catalog' || more.length > 0) {
    walk.refuse(
      `${names(node.funcname).join('.')}() is not a built-in function of PostgreSQL; its effects are unknown.`,
      'Use only functions of pg_catalog, or a transform for everything else.',
    )
  } else if (!ALLOWED_FUNCTIONS.has(name)) {
    const reason = reasonAgainst(name)
    walk.refuse(
      `${name}() may not be called: it ${reason ?? 'is not on the list of functions without side effects'}.`,
      'Use a function that only computes, or a transform.',
    )
  } else {
    checkSize(name, (node.args ?? []) as Tree[], walk)
  }
}

function checkType(node: Tree, walk: TextFindings): void {
  checkTypeSize(node, walk)
  const [name = '', schema = null, ...more] = names(node.names).reverse()
  const written = names(node.names).join('.')
  if (more.length > 0) walk.refuse(`The type ${written} has too many names.`, 'Write schema.type.')
  else if (schema === null || schema === 'pg_catalog') checkKnownType(name, written, walk)
  else if (isSystemSchema(schema))
    walk.refuse(`The type ${written} may not be used.`, allowedHint(walk.rules.sourceSchemas))
  else if (!walk.rules.canonical && !walk.rules.sourceSchemas.includes(schema))
    walk.refuse(`The type ${written} may not be used.`, allowedHint(walk.rules.sourceSchemas))
}

function checkKnownType(name: string, written: string, walk: TextFindings): void {
  if (isKnownType(name)) return
  if (/^_?reg/.test(name))
    walk.refuse(
      `The type ${written} may not be used: it looks up tables, functions or roles by name.`,
      'Remove the cast.',
    )
  else
    walk.refuse(
      `"${written}" is not a type that a source query may use.`,
      'Write a user-defined type with its schema, as in content.mood; built-in types need none.',
    )
}

function checkOperator(operator: readonly string[], walk: TextFindings): void {
  if (operator.length < 2 || (operator.length === 2 && operator[0] === 'pg_catalog')) return
  walk.refuse(
    `OPERATOR(${operator.join('.')}) is not a built-in operator of PostgreSQL.`,
    'Use only operators of pg_catalog.',
  )
}

const DANGEROUS = /^(pg_|lo_|dblink|txid_|ts_stat$|nextval$|currval$|setseed$|current_setting$)|_to_xml/

/** `('/etc/passwd').pg_read_file` is a call that does not look like one. The server's own text shows all the others. */
function checkIndirection(node: Tree, walk: TextFindings): void {
  for (const name of names(node.indirection)) {
    const reason = DANGEROUS.test(name) ? reasonAgainst(name) : null
    if (reason !== null) walk.refuse(`.${name} calls the function ${name}(), which ${reason}.`, 'Remove it.')
  }
}

function checkCollation(collation: readonly string[], walk: TextFindings): void {
  const [, schema = 'pg_catalog', ...more] = [...collation].reverse()
  if (
    more.length === 0 &&
    (schema === 'pg_catalog' || walk.rules.canonical || walk.rules.sourceSchemas.includes(schema))
  )
    return
  walk.refuse(`The collation ${collation.join('.')} may not be used.`, 'Use a collation of pg_catalog.')
}

function checkSampling(method: readonly string[], walk: TextFindings): void {
  const [name = '', schema = 'pg_catalog'] = [...method].reverse()
  if (schema === 'pg_catalog' && SAMPLING.has(name)) return
  walk.refuse(`TABLESAMPLE ${method.join('.')} is not known to be safe.`, 'Use SYSTEM or BERNOULLI.')
}

function checkValueFunction(node: Tree, walk: TextFindings): void {
  if (TIME_WORDS.has(String(node.op))) return
  const word = String(node.op).replace(/^SVFOP_/, '')
  walk.refuse(`${word} may not be used: it shows the session, not data.`, 'Remove it, or write a constant.')
}

/** The strings of a list of names, without `*` and subscripts. */
function names(list: unknown): string[] {
  if (!Array.isArray(list)) return []
  return (list as Tree[]).flatMap((each) => {
    const text = (each.String as Tree | undefined)?.sval
    return each.String === undefined ? [] : [typeof text === 'string' ? text : '']
  })
}
