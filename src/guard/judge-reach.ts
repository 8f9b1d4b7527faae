import { FIRST_ADDED } from '../postgres/own-objects.js'
import { allowedHint, isSystemSchema } from './checks.js'
import { checkCanonical } from './parse.js'
import type { HiddenText, Reach, ReachedObject, ReachedRelation } from './reach.js'
import type { GuardRules } from './verdict.js'

/** A reason against the query, and the relation that leads to it, as `schema.table`. */
export interface Reason {
  readonly root: string | null
  readonly message: string
  readonly hint: string
}

/** Whether everything that the query leads to may be reached. */
export async function judgeReach(reach: Reach, rules: GuardRules): Promise<Reason[]> {
  const found = [
    ...reach.relations.flatMap((relation) => judgeRelation(relation, rules)),
    ...reach.objects.flatMap((object) => judgeObject(object, rules)),
  ]
  // What is known by name need not be told a second time out of a text.
  if (found.length > 0) return found
  for (const hidden of reach.hidden) found.push(...(await judgeText(hidden, rules)))
  return found
}

/** What a view calls or reads of PostgreSQL's own is pinned and leaves no trace but its text: pg_read_file(), pg_authid. */
async function judgeText({ owner, text }: HiddenText, rules: GuardRules): Promise<Reason[]> {
  const verdict = await checkCanonical(text, rules)
  if (verdict.ok) return []
  return verdict.problems.map(({ message }) =>
    reason(
      owner,
      `In ${owner}, which the query uses: ${message}`,
      'Read the tables themselves, or ask for another view.',
    ),
  )
}

function judgeRelation(relation: ReachedRelation, rules: GuardRules): Reason[] {
  const { schema, name, kind, via, readable } = relation
  // A free-standing composite type: a shape, without rows.
  if (kind === 'c') return []
  const table = `${schema}.${name}`
  const reached = via === null ? table : `${table}, which ${via} leads to,`
  if (!mayRead(schema, rules))
    return [reason(table, `${forbidden(relation)} may not be read.`, allowedHint(rules.sourceSchemas))]
  if (kind === 'f')
    return [
      reason(
        table,
        `${reached} is a foreign table: what it reads lies on another server.`,
        'Give that server a connection of its own and read it there.',
      ),
    ]
  // Tables, views, materialized views, partitioned tables. A sequence, for one, is not data.
  if (!'rvmp'.includes(kind))
    return [reason(table, `${table} is neither a table nor a view.`, 'Read tables and views only.')]
  // What a view reads, it reads with the rights of its owner.
  if (via !== null || readable === 'true') return []
  return [
    reason(table, `The reader has no right to read ${table}.`, 'Grant it SELECT, or run "vitrina migrate".'),
  ]
}

/** Whoever reads a parent reads the rows of its partitions and children, wherever they lie. */
function forbidden({ schema, name, via, via_kind }: ReachedRelation): string {
  const table = `${schema}.${name}`
  if (via === null) return table
  if (via_kind === 'p') return `${table} is a partition of ${via}, and the schema ${schema}`
  if (via_kind === 'r') return `${table} inherits from ${via}, and the schema ${schema}`
  return `${table}, which ${via} leads to,`
}

function judgeObject(object: ReachedObject, rules: GuardRules): Reason[] {
  const { catalog, identity } = object
  if (catalog === 'pg_proc' || catalog === 'pg_operator') return judgeRoutine(object)
  if (catalog === 'pg_type') return judgeType(object, rules)
  // Collations, text search configurations, and the primary key that lets GROUP BY be short: they only describe.
  if (/^pg_(collation|ts_config|ts_dict|constraint)$/.test(catalog)) return []
  return [
    reason(
      object.via,
      `The query depends on ${identity} (${catalog}), which is not known to be safe.`,
      'Write it in another way.',
    ),
  ]
}

/** Also those that no text shows: implicit casts, and the equality behind DISTINCT, GROUP BY and UNION. */
function judgeRoutine({ oid, catalog, identity, schema, via }: ReachedObject): Reason[] {
  if (schema === 'pg_catalog' && Number(oid) < FIRST_ADDED) return []
  const what = catalog === 'pg_proc' ? 'function' : 'operator'
  const who = via === null ? 'The query' : `${via}, which the query uses,`
  return [
    reason(
      via,
      `${who} runs the ${what} ${identity}, which is not PostgreSQL's own, so what it does is not known.`,
      'Use functions and operators of pg_catalog only; what else is needed can be a transform.',
    ),
  ]
}

/** A composite type shows the columns of its table. Other types come with a column that may be read, and say nothing. */
function judgeType({ identity, schema, type_kind }: ReachedObject, rules: GuardRules): Reason[] {
  if (type_kind !== 'c' || schema === null || mayRead(schema, rules)) return []
  return [reason(null, `The type ${identity} may not be used.`, allowedHint(rules.sourceSchemas))]
}

function mayRead(schema: string, rules: GuardRules): boolean {
  return rules.sourceSchemas.includes(schema) && !isSystemSchema(schema)
}

function reason(root: string | null, message: string, hint: string): Reason {
  return { root, message, hint }
}
