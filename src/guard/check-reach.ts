import { FIRST_ADDED } from '../postgres/own-objects.js'
import { checkCanonical } from './parse.js'
import type { HiddenText, Reach, ReachedObject, ReachedRelation } from './reach.js'
import { allowedHint, isSystemSchema } from './structure-checks.js'
import type { GuardRules } from './verdict.js'

/** A reason against the query, and the relation that causes it, as `schema.table`. */
export interface Reason {
  readonly root: string | null
  readonly message: string
  readonly hint: string
}

/** Checks whether the query may access everything that it depends on. */
export async function checkReach(reach: Reach, rules: GuardRules): Promise<Reason[]> {
  const found = [
    ...reach.relations.flatMap((relation) => checkRelation(relation, rules)),
    ...reach.objects.flatMap((object) => checkObject(object, rules)),
  ]
  // Dependencies already known by name are not reported again from a text.
  if (found.length > 0) return found
  for (const hidden of reach.hidden) found.push(...(await checkText(hidden, rules)))
  return found
}

/** Built-in objects that a view uses are pinned and visible only in its text: pg_read_file(), pg_authid. */
async function checkText({ owner, text }: HiddenText, rules: GuardRules): Promise<Reason[]> {
  const verdict = await checkCanonical(text, rules)
  if (verdict.ok) return []
  return verdict.problems.map(({ message }) =>
    reason(
      owner,
      `In ${owner}, which the query uses: ${message}`,
      'Read the tables directly, or use another view.',
    ),
  )
}

function checkRelation(relation: ReachedRelation, rules: GuardRules): Reason[] {
  const { schema, name, kind, via, readable } = relation
  // A free-standing composite type: a shape without rows.
  if (kind === 'c') return []
  const table = `${schema}.${name}`
  const reached = via === null ? table : `${table}, which ${via} reads,`
  if (!mayRead(schema, rules))
    return [reason(table, `${forbidden(relation)} may not be read.`, allowedHint(rules.sourceSchemas))]
  if (kind === 'f')
    return [
      reason(
        table,
        `${reached} is a foreign table: its data is on another server.`,
        'Configure a connection to that server and read it there.',
      ),
    ]
  // Tables, views, materialized views, partitioned tables. A sequence, for example, is not data.
  if (!'rvmp'.includes(kind))
    return [reason(table, `${table} is neither a table nor a view.`, 'Read tables and views only.')]
  // A view reads its tables with the privileges of its owner.
  if (via !== null || readable === 'true') return []
  return [
    reason(
      table,
      `The reader has no privilege to read ${table}.`,
      'Grant it SELECT, or run "vitrina migrate".',
    ),
  ]
}

/** Reading a parent reads the rows of its partitions and children, whatever schema they are in. */
function forbidden({ schema, name, via, via_kind }: ReachedRelation): string {
  const table = `${schema}.${name}`
  if (via === null) return table
  if (via_kind === 'p') return `${table} is a partition of ${via}, and the schema ${schema}`
  if (via_kind === 'r') return `${table} inherits from ${via}, and the schema ${schema}`
  return `${table}, which ${via} reads,`
}

function checkObject(object: ReachedObject, rules: GuardRules): Reason[] {
  const { catalog, identity } = object
  if (catalog === 'pg_proc' || catalog === 'pg_operator') return checkRoutine(object)
  if (catalog === 'pg_type') return checkType(object, rules)
  // Collations, text search configurations, and the primary key used by a short GROUP BY: they only describe.
  if (/^pg_(collation|ts_config|ts_dict|constraint)$/.test(catalog)) return []
  return [
    reason(
      object.via,
      `The query depends on ${identity} (${catalog}), which is not known to be safe.`,
      'Rewrite the query.',
    ),
  ]
}

/** Includes those that no text shows: implicit casts, and the equality behind DISTINCT, GROUP BY and UNION. */
function checkRoutine({ oid, catalog, identity, schema, via }: ReachedObject): Reason[] {
  if (schema === 'pg_catalog' && Number(oid) < FIRST_ADDED) return []
  const what = catalog === 'pg_proc' ? 'function' : 'operator'
  const who = via === null ? 'The query' : `${via}, which the query uses,`
  return [
    reason(
      via,
      `${who} runs the ${what} ${identity}, which is not built into PostgreSQL; its effects are unknown.`,
      'Use only functions and operators of pg_catalog, or a transform for everything else.',
    ),
  ]
}

/** A composite type shows the columns of its table. Other types belong to a readable column and reveal nothing. */
function checkType({ identity, schema, type_kind }: ReachedObject, rules: GuardRules): Reason[] {
  if (type_kind !== 'c' || schema === null || mayRead(schema, rules)) return []
  return [reason(null, `The type ${identity} may not be used.`, allowedHint(rules.sourceSchemas))]
}

function mayRead(schema: string, rules: GuardRules): boolean {
  return rules.sourceSchemas.includes(schema) && !isSystemSchema(schema)
}

function reason(root: string | null, message: string, hint: string): Reason {
  return { root, message, hint }
}
