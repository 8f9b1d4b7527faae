import type { TableName } from '../sql/identifiers.js'
import { checkEnd, checkWrittenOut, mayBeCutShort } from './bombs.js'
import { NameScope, type Names } from './name-scope.js'
import { INSTEAD, NODE_NAMES, NODES } from './nodes.js'
import type { Tree } from './parser.js'
import { STRUCTURE_CHECKS } from './structure-checks.js'
import type { TextFinding, TextFindings, WalkRules } from './text-findings.js'

/** Further findings would not help the author. */
const MAX_FINDINGS = 20

/** Visits every node of a statement and records what is not allowed. Uses only the text. */
export class Walk implements TextFindings {
  readonly rules: WalkRules
  readonly findings: TextFinding[] = []
  readonly #relations = new Map<string, TableName & { byte: number }>()
  /** Current position in bytes: most nodes have one, the others inherit it. */
  #place = 0
  /** Computed once, and only for a recursive query. */
  #cutShort: boolean | null = null
  #root: Tree = {}

  constructor(rules: WalkRules) {
    this.rules = rules
  }

  /** Once each, with the position of the first mention. */
  get relations(): (TableName & { byte: number })[] {
    return [...this.#relations.values()]
  }

  statement(statement: Tree): void {
    const [kind = '', node] = only(statement)
    this.#root = statement
    if (kind === 'SelectStmt') {
      this.#visit(kind, node as Tree, NameScope.empty())
      checkWrittenOut(statement, this)
    } else
      this.refuse(
        `The text is ${statementName(kind)}; a source query may only read.`,
        'Write one SELECT, VALUES or WITH … SELECT.',
      )
  }

  refuse(message: string, hint: string, place?: number): void {
    if (this.findings.length < MAX_FINDINGS) this.findings.push({ message, hint, byte: place ?? this.#place })
  }

  names(relation: TableName): void {
    const key = `${relation.schema}\0${relation.table}`
    if (!this.#relations.has(key)) this.#relations.set(key, { ...relation, byte: this.#place })
  }

  #visit(kind: string, node: Tree, scope: Names): void {
    const fields = NODES.get(kind)
    const outer = this.#place
    if (typeof node.location === 'number' && node.location >= 0) this.#place = node.location
    if (fields === undefined) {
      this.refuse(
        `${capital(statementName(kind))} may not be part of a source query.`,
        INSTEAD[kind] ?? 'Write a query that only reads.',
      )
    } else {
      STRUCTURE_CHECKS[kind]?.(node, this, scope)
      this.#fields(fields, node, kind === 'SelectStmt' ? this.#with(node, scope) : scope)
    }
    this.#place = outer
  }

  #fields(fields: ReadonlyMap<string, string | null>, node: Tree, scope: Names): void {
    for (const [field, value] of Object.entries(node)) {
      const bare = fields.get(field)
      if (bare === undefined) this.#unknownField(field, node)
      // Its queries were visited when the scope was built.
      else if (bare !== 'WithClause') this.#value(bare, value, scope)
    }
  }

  #unknownField(field: string, node: Tree): void {
    const value = node[field]
    if (value === false || (Array.isArray(value) && value.length === 0)) return
    // Neither has a position: the table to be written or locked does.
    if (field === 'intoClause')
      this.refuse('INTO may not be part of a source query: it writes.', 'Remove it.', placeIn(value))
    else if (field === 'lockingClause')
      this.refuse(
        'FOR UPDATE or FOR SHARE may not be part of a source query: it locks.',
        'Remove it.',
        placeIn(value) ?? placeIn(node.fromClause),
      )
    else if (field === 'catalogname')
      this.refuse('The query refers to a table of another database.', 'Write schema.table.')
    else this.refuse(`This form of the query is not known to be safe (${field}).`, 'Rewrite the query.')
  }

  #value(bare: string | null, value: unknown, scope: Names): void {
    if (Array.isArray(value)) for (const each of value) this.#value(null, each, scope)
    else if (value !== null && typeof value === 'object') this.#node(bare, value as Tree, scope)
  }

  #node(bare: string | null, value: Tree, scope: Names): void {
    // `{}` marks an empty position in a list: DISTINCT without ON has one.
    const [kind = '', node = {}] = bare === null ? only(value) : [bare, value]
    if (Object.keys(value).length > 0) this.#visit(kind, node as Tree, scope)
  }

  /** The names defined by WITH: each query sees those before it, and with RECURSIVE all of them. */
  #with(node: Tree, outer: Names): Names {
    const clause = node.withClause as Tree | undefined
    if (clause === undefined) return outer
    const queries = ((clause.ctes ?? []) as Tree[]).map((each) => (each.CommonTableExpr ?? {}) as Tree)
    const recursive = clause.recursive === true
    const all = outer.plus(queries.map((query) => [String(query.ctename), true]))
    for (const [place, query] of queries.entries()) {
      this.#visit('CommonTableExpr', query, recursive ? all : all.before(place))
      if (recursive) this.#endOf(query)
    }
    return all
  }

  #endOf(query: Tree): void {
    this.#cutShort ??= mayBeCutShort(this.#root)
    if (!this.#cutShort) checkEnd(query, this)
  }
}

/** The first position of a node inside it. */
function placeIn(value: unknown): number | undefined {
  if (value === null || typeof value !== 'object') return undefined
  const { location } = value as Tree
  if (typeof location === 'number' && location >= 0) return location
  return Object.values(value).reduce((found, each) => found ?? placeIn(each), undefined)
}

function only(wrapped: Tree): [string?, unknown?] {
  const entries = Object.entries(wrapped)
  return entries.length === 1 ? (entries[0] as [string, unknown]) : []
}

function statementName(kind: string): string {
  return (
    NODE_NAMES[kind] ??
    kind
      .replace(/Stmt$/, '')
      .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
      .toUpperCase()
  )
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
