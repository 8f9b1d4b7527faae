import type { Tree } from '../guard/index.js'
import {
  type BaseExpression,
  type FlattenedColumn,
  guarded,
  type Link,
  occurrenceIds,
} from './alternative.js'
import { type ColumnMeaning, meaningOf, plainUse } from './column-meaning.js'
import { isSafeCast } from './safe-cast.js'
import type { Here, ScopeWork } from './scope-work.js'
import { type Addition, added, asAddition, bodiesOf, NO_ADDITION, subqueriesIn } from './subqueries.js'
import { listOf, namesOf, nodeOf } from './tree.js'

/**
 * Reads a WHERE or ON. Only AND-ed comparisons of columns become links; every other condition is dropped, which names
 * more scopes than have changed, but never fewer.
 */
export function conditionsOf(work: ScopeWork, condition: unknown, here: Here): Addition[] {
  return conjunctsOf(condition).reduce<Addition[]>(
    (additions, conjunct) => work.product(additions, () => conjunctOf(work, conjunct, here), added),
    [NO_ADDITION],
  )
}

function conjunctsOf(condition: unknown): unknown[] {
  if (condition === undefined) return []
  const { kind, node } = nodeOf(condition)
  if (kind !== 'BoolExpr' || node.boolop !== 'AND_EXPR') return [condition]
  return listOf(node.args).flatMap(conjunctsOf)
}

function conjunctOf(work: ScopeWork, conjunct: unknown, here: Here): Addition[] {
  const { kind, node } = nodeOf(conjunct)
  if (kind === 'SubLink' && isMembership(node)) return membership(work, node, { here })
  const denied = kind === 'BoolExpr' && node.boolop === 'NOT_EXPR' ? nodeOf(listOf(node.args)[0]) : null
  if (denied?.kind === 'SubLink' && isMembership(denied.node))
    return membership(work, denied.node, { here, isUsable: isNeverNull })
  const links = kind === 'A_Expr' ? comparison(work, node, here) : []
  return subqueriesIn(work, conjunct, here).map((addition) => added(addition, { occurrences: [], links }))
}

const COMPARISONS: ReadonlySet<string> = new Set(['=', '<', '>', '<=', '>='])

/** Operators of pg_catalog only, which are strict: the server writes others with their schema. */
function comparison(work: ScopeWork, { kind, name, lexpr, rexpr }: Tree, here: Here): Link[] {
  const names = namesOf(name)
  const operator = names.at(-1) ?? ''
  if (kind !== 'AEXPR_OP' || names.length !== 1 || !COMPARISONS.has(operator)) return []
  return pairsOf(lexpr, rexpr, operator).flatMap(([left, right]) =>
    linkOf(operator, sideOf(work, left, here), sideOf(work, right, here)),
  )
}

/** (a, b) = (c, d) is two comparisons; an order of rows is not. */
function pairsOf(left: unknown, right: unknown, operator: string): [unknown, unknown][] {
  const [first, second] = [nodeOf(left), nodeOf(right)]
  if (first.kind !== 'RowExpr' || second.kind !== 'RowExpr') return [[left, right]]
  const others = listOf(second.node.args)
  return operator === '=' ? listOf(first.node.args).map((each, place) => [each, others[place]]) : []
}

function sideOf(work: ScopeWork, value: unknown, here: Here): BaseExpression | null {
  return linkable(work, meaningOf(work, value, here.levels))
}

function linkable(work: ScopeWork, { value, opaque }: ColumnMeaning): BaseExpression | null {
  const use = value === null || opaque !== null ? null : plainUse(value)
  return value !== null && use !== null && isSafeCast(value, work.typeOf(use)) ? value : null
}

function linkOf(operator: string, left: BaseExpression | null, right: BaseExpression | null): Link[] {
  if (left === null || right === null) return []
  const [one, other] = [plainUse(left), plainUse(right)]
  return one?.occurrence === other?.occurrence ? [] : [{ operator, left, right, guards: [] }]
}

/** Both columns of a USING pair, whose operator the text does not show: only for types of pg_catalog it is known. */
export function equality(
  work: ScopeWork,
  left: FlattenedColumn | null,
  right: FlattenedColumn | null,
): Link[] {
  const side = (column: FlattenedColumn | null) => {
    const value = column && linkable(work, column)
    const isBuiltIn = (type: string) => type !== '' && !type.includes('.')
    return value?.uses.every((use) => isBuiltIn(work.typeOf(use))) ? value : null
  }
  return linkOf('=', side(left), side(right))
}

/** x IN (SELECT y …), which the server also writes for = ANY. */
function isMembership({ subLinkType, operName }: Tree): boolean {
  return subLinkType === 'ANY_SUBLINK' && (operName === undefined || namesOf(operName).join('.') === '=')
}

/** NOT IN is decided by equal values only if there are no NULLs: one in y makes it unknown for every x. */
function isNeverNull(work: ScopeWork, { value, isOptional }: ColumnMeaning): boolean {
  return value !== null && !isOptional && work.isNotNull(value)
}

interface Membership {
  readonly here: Here
  readonly isUsable?: (work: ScopeWork, side: ColumnMeaning) => boolean
}

/** As a conjunct it is a comparison of x with the y of a row that is there; NULLs in y only make it false. */
function membership(work: ScopeWork, node: Tree, { here, isUsable = () => true }: Membership): Addition[] {
  const { kind, node: row } = nodeOf(node.testexpr)
  const tests = kind === 'RowExpr' ? listOf(row.args) : [node.testexpr]
  const tested = subqueriesIn(work, node.testexpr, here)
  return work.product(
    tested,
    () =>
      bodiesOf(work, node, here).map((body) => {
        const pairs = tests.map(
          (test, place) => [meaningOf(work, test, here.levels), body.columns[place]] as const,
        )
        const isLinked = pairs.every(
          ([test, column]) => column && isUsable(work, test) && isUsable(work, column),
        )
        const links = !isLinked
          ? []
          : pairs.flatMap(([test, column]) => linkOf('=', linkable(work, test), linkable(work, column!)))
        const guard = new Set(occurrenceIds(body.occurrences))
        return added(asAddition(body), { occurrences: [], links: guarded(links, guard) })
      }),
    added,
  )
}
