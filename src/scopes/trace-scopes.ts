import type { TableName } from '../sql/identifiers.js'
import type { Alternative, BaseColumn, BaseExpression, FlattenedColumn, Occurrence } from './alternative.js'
import { withInlinedQueries } from './inlined-queries.js'
import { keyQueryOf } from './key-query.js'
import { type BaseTable, nameOf, type QueryFacts, relationKey } from './query-facts.js'
import { recomputeStatements } from './recompute.js'
import { requireRepeatable } from './repeatable.js'
import { pathFrom } from './scope-path.js'
import type {
  KeyQuery,
  OccurrenceTrace,
  PlanDependentColumn,
  ScopeColumn,
  ScopeTrace,
  TableTrace,
} from './scope-trace.js'
import { ScopeWork } from './scope-work.js'
import { selectAlternatives } from './select.js'
import { Untraceable } from './untraceable.js'
import { expressionText } from './write-expression.js'

/** How changes of the base tables are followed to the rows of a mart with this key. */
export function traceScopes(facts: QueryFacts, key: readonly string[]): ScopeTrace {
  try {
    return traceAlternatives(flatten(facts), facts, key)
  } catch (error) {
    if (error instanceof Untraceable) return { traced: false, reason: error.message, planDependent: [] }
    throw error
  }
}

/** Throws Untraceable. */
export function flatten(facts: QueryFacts): Alternative[] {
  const [obstacle] = facts.obstacles
  if (obstacle !== undefined) throw new Untraceable(obstacle)
  requireRepeatable(facts.statement)
  const work = new ScopeWork(facts, selectAlternatives)
  return work.select(facts.statement, { queries: new Map(), outer: [] })
}

/** Throws Untraceable. Apart from `flatten`, so that a test can spoil the alternatives in between. */
export function traceAlternatives(
  alternatives: readonly Alternative[],
  facts: QueryFacts,
  key: readonly string[],
): ScopeTrace {
  const planDependent = planDependentColumns(alternatives, facts)
  const transparent = key.filter((name) => alternatives.every((each) => isTransparent(columnOf(each, name))))
  const names = withoutFunctions(transparent, alternatives)
  const scope = names.flatMap((name) => scopeColumn(name, alternatives, facts))
  if (scope.length === 0) return { traced: false, reason: whyNoScope(key, alternatives), planDependent }
  if (isOneScope(scope, alternatives))
    return {
      traced: false,
      reason: 'The key has one value: every change affects the whole mart.',
      planDependent,
    }
  const found = alternatives.flatMap((alternative) =>
    alternative.occurrences
      .filter(({ call }) => call === null)
      .map((occurrence) => ({ occurrence, trace: trace(occurrence, alternative, scope) })),
  )
  const inlined = withInlinedQueries(facts.text, facts.statement)
  return {
    traced: true,
    scope,
    tables: tablesOf(found),
    recompute: {
      ...recomputeStatements(inlined, scope),
      inlined,
      // Where everything is computed, a WITH query that is named twice is better computed once.
      full: facts.text,
    },
    planDependent,
  }
}

function columnOf({ columns }: Alternative, name: string): FlattenedColumn | undefined {
  return columns.find((column) => column.name === name)
}

/**
 * Rows of a function are found through those of a table: its column serves as well, and an old image need not have the
 * arguments.
 */
function withoutFunctions(names: readonly string[], alternatives: readonly Alternative[]): readonly string[] {
  const places = (name: string) =>
    alternatives.map((each) => {
      const uses = columnOf(each, name)?.value?.uses ?? []
      const isCall = ({ occurrence }: BaseColumn) =>
        each.occurrences.some(({ id, call }) => id === occurrence && call !== null)
      return uses.length === 0 ? 'nowhere' : uses.some(isCall) ? 'function' : 'table'
    })
  const isEnough = names.some((name) => places(name).every((place) => place === 'table'))
  return isEnough ? names.filter((name) => !places(name).includes('function')) : names
}

function isTransparent(column: FlattenedColumn | undefined): boolean {
  return column !== undefined && column.opaque === null && column.value !== null
}

/** Types without an equality operator, whose values cannot be looked up. */
const WITHOUT_EQUALITY = /^(json|xml|point|line|lseg|box|path|polygon|circle|jsonpath)\b/

function scopeColumn(name: string, alternatives: readonly Alternative[], facts: QueryFacts): ScopeColumn[] {
  const column = facts.columns.find((each) => each.name === name)
  if (column === undefined || column.isLoose || WITHOUT_EQUALITY.test(column.type)) return []
  const mayBeNull = alternatives.some((each) => {
    const found = columnOf(each, name)
    return found?.isOptional === true || !isNeverNull(found?.value ?? null, each.occurrences)
  })
  return [{ name, type: column.type, mayBeNull }]
}

function isNeverNull(value: BaseExpression | null, occurrences: readonly Occurrence[]): boolean {
  const constant =
    value?.node.A_Const ?? (value?.node.TypeCast as { arg?: { A_Const?: object } })?.arg?.A_Const
  if (constant !== undefined) return !('isnull' in (constant as object))
  const use = value?.node.BaseColumn === undefined ? undefined : value.uses[0]
  const table = occurrences.find(({ id }) => id === use?.occurrence)?.table
  return table?.columns.get(use?.column ?? '')?.isNotNull === true
}

function isOneScope(scope: readonly ScopeColumn[], alternatives: readonly Alternative[]): boolean {
  const texts = alternatives.map((each) => {
    const values = scope.map(({ name }) => columnOf(each, name)?.value)
    return values.every((value) => value?.uses.length === 0)
      ? JSON.stringify(values.map((value) => value && expressionText(value.node)))
      : null
  })
  return !texts.includes(null) && new Set(texts).size <= 1
}

function whyNoScope(key: readonly string[], alternatives: readonly Alternative[]): string {
  const reasons = key.map((name) => {
    const columns = alternatives.map((each) => columnOf(each, name))
    if (columns.includes(undefined)) return `${name}: it is not a column of the query`
    const opaque = columns.find((column) => !isTransparent(column))
    return `${name}: ${opaque?.opaque ?? 'its values cannot be compared exactly'}`
  })
  return `No key column separates independent rows (${reasons.join('; ')}).`
}

function trace(
  occurrence: Occurrence,
  alternative: Alternative,
  scope: readonly ScopeColumn[],
): OccurrenceTrace {
  const values = scope.map(({ name }) => columnOf(alternative, name)!.value!)
  const path = pathFrom(occurrence, values, alternative)
  if (path === null) return { traced: false, reason: whyNoPath(occurrence, scope) }
  return {
    traced: true,
    keyQuery: keyQueryOf(
      path,
      scope.map(({ type }) => type),
    ),
  }
}

function whyNoPath({ table }: Occurrence, scope: readonly ScopeColumn[]): string {
  const columns = scope.map(({ name }) => name).join(', ')
  return `No join on columns leads from ${nameOf(table.name)} to ${columns} for every row: a change of it can affect any row.`
}

interface Found {
  readonly occurrence: Occurrence
  readonly trace: OccurrenceTrace
}

function tablesOf(found: readonly Found[]): TableTrace[] {
  const tables = new Map(found.map(({ occurrence: { table } }) => [relationKey(table.name), table]))
  const keyQueries = found.flatMap(({ trace }) => (trace.traced ? [trace.keyQuery] : []))
  return [...tables.values()].map((table) => {
    const columns = columnsUsed(table, keyQueries)
    const isGenerated = (name: string) => table.columns.get(name)?.isGenerated === true
    const own = found.filter(({ occurrence }) => occurrence.table === table).map(({ trace }) => trace)
    return {
      table: table.name,
      capturedAs: table.capturedAs,
      occurrences: distinct(own),
      columns,
      generatedColumns: columns.filter(isGenerated),
      primaryKey: table.primaryKey,
      identity: table.identity,
      isLossless: columns.every((column) => table.identity.columns.includes(column)),
    }
  })
}

function columnsUsed(table: BaseTable, keyQueries: readonly KeyQuery[]): string[] {
  const isOfTable = (name: TableName) => relationKey(name) === relationKey(table.name)
  const used = new Set(
    keyQueries.flatMap(({ parameters }) =>
      parameters.filter((each) => isOfTable(each.table)).map(({ column }) => column),
    ),
  )
  return [...table.columns.keys()].filter((name) => used.has(name))
}

/** A WITH query that is named twice often leads to the same key query twice. */
function distinct(traces: readonly OccurrenceTrace[]): OccurrenceTrace[] {
  return [...new Map(traces.map((each) => [JSON.stringify(each), each])).values()]
}

function planDependentColumns(
  alternatives: readonly Alternative[],
  facts: QueryFacts,
): PlanDependentColumn[] {
  return facts.columns.flatMap(({ name }) => {
    const reason = alternatives.map((each) => columnOf(each, name)?.unsteady ?? null).find(Boolean)
    return reason ? [{ name, reason }] : []
  })
}
