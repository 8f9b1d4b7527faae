import type { TableName } from '../sql/identifiers.js'
import { checkEnd, checkWrittenOut, mayBeCutShort } from './bombs.js'
import { CHECKS } from './checks.js'
import type { Finding, Findings, WalkRules } from './findings.js'
import { INSTEAD, NODES, SAID } from './nodes.js'
import type { Tree } from './parser.js'
import { type Names, Scope } from './scope.js'

/** More tell nobody more. */
const MAX_FINDINGS = 20

/** Visits every node of a statement and notes what may not be there. Knows nothing that is not in the text. */
export class Walk implements Findings {
  readonly rules: WalkRules
  readonly findings: Finding[] = []
  readonly #relations = new Map<string, TableName & { byte: number }>()
  /** Where the walk is, in bytes: most nodes know their place, the rest take that of what holds them. */
  #place = 0
  /** Asked once, and only when there is something recursive. */
  #cutShort: boolean | null = null
  #root: Tree = {}

  constructor(rules: WalkRules) {
    this.rules = rules
  }

  /** Once each, with the place of the first mention. */
  get relations(): (TableName & { byte: number })[] {
    return [...this.#relations.values()]
  }

  statement(statement: Tree): void {
    const [kind = '', node] = only(statement)
    this.#root = statement
    if (kind === 'SelectStmt') {
      this.#visit(kind, node as Tree, Scope.empty())
      checkWrittenOut(statement, this)
    } else
      this.refuse(
        `The text is ${said(kind)}; a source query may only read.`,
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
        `${capital(said(kind))} may not be part of a source query.`,
        INSTEAD[kind] ?? 'Write a query that only reads.',
      )
    } else {
      CHECKS[kind]?.(node, this, scope)
      this.#fields(fields, node, kind === 'SelectStmt' ? this.#with(node, scope) : scope)
    }
    this.#place = outer
  }

  #fields(fields: ReadonlyMap<string, string | null>, node: Tree, scope: Names): void {
    for (const [field, value] of Object.entries(node)) {
      const bare = fields.get(field)
      if (bare === undefined) this.#unknownField(field, node)
      // Its queries were visited on the way to the scope.
      else if (bare !== 'WithClause') this.#value(bare, value, scope)
    }
  }

  #unknownField(field: string, node: Tree): void {
    const value = node[field]
    if (value === false || (Array.isArray(value) && value.length === 0)) return
    // Neither knows its place: the table that would be written or locked does.
    if (field === 'intoClause')
      this.refuse('INTO may not be part of a source query: it writes.', 'Leave it out.', placeIn(value))
    else if (field === 'lockingClause')
      this.refuse(
        'FOR UPDATE or FOR SHARE may not be part of a source query: it locks.',
        'Leave it out.',
        placeIn(value) ?? placeIn(node.fromClause),
      )
    else if (field === 'catalogname')
      this.refuse('A table of another database was named.', 'Write schema.table.')
    else this.refuse(`This form of the query is not known to be safe (${field}).`, 'Write it in another way.')
  }

  #value(bare: string | null, value: unknown, scope: Names): void {
    if (Array.isArray(value)) for (const each of value) this.#value(null, each, scope)
    else if (value !== null && typeof value === 'object') this.#node(bare, value as Tree, scope)
  }

  #node(bare: string | null, value: Tree, scope: Names): void {
    // `{}` stands for an empty place in a list: DISTINCT without ON has one.
    const [kind = '', node = {}] = bare === null ? only(value) : [bare, value]
    if (Object.keys(value).length > 0) this.#visit(kind, node as Tree, scope)
  }

  /** The names that WITH brings: each query sees those before it, and with RECURSIVE all of them. */
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

/** The first place that a node in it knows. */
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

function said(kind: string): string {
  return (
    SAID[kind] ??
    kind
      .replace(/Stmt$/, '')
      .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
      .toUpperCase()
  )
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
