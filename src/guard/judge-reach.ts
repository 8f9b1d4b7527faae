import { allowedHint, isSystemSchema } from './checks.js'
import { checkCanonical } from './parse.js'
import type { HiddenText, Reach, ReachedObject, ReachedRelation } from './reach.js'
import type { GuardRules, Problem } from './verdict.js'

/** PostgreSQL's own objects have smaller numbers; what anybody added has not, even in pg_catalog. */
const FIRST_ADDED = 16_384

/** Whether everything that the query leads to may be reached. */
export async function judgeReach(reach: Reach, rules: GuardRules): Promise<Problem[]> {
  const texts: Problem[] = []
  for (const hidden of reach.hidden) texts.push(...(await judgeText(hidden, rules)))
  return [
    ...reach.relations.flatMap((relation) => judgeRelation(relation, rules)),
    ...reach.objects.flatMap((object) => judgeObject(object, rules)),
    ...texts,
  ]
}

/** What a view calls or reads of PostgreSQL's own is pinned and leaves no trace but its text: pg_read_file(), pg_authid. */
async function judgeText({ owner, text }: HiddenText, rules: GuardRules): Promise<Problem[]> {
  const verdict = await checkCanonical(text, rules)
  if (verdict.ok) return []
  return verdict.problems.map(({ message, hint }) =>
    problem(`In ${owner}, which the query uses: ${message}`, hint),
  )
}

function judgeRelation({ schema, name, kind, via, readable }: ReachedRelation, rules: GuardRules): Problem[] {
  const table = `${schema}.${name}`
  const reached = via === null ? table : `${table}, which ${via} leads to,`
  if (!mayRead(schema, rules))
    return [problem(`${reached} may not be read.`, allowedHint(rules.sourceSchemas))]
  if (kind === 'f')
    return [
      problem(
        `${reached} is a foreign table: what it reads lies on another server.`,
        'Give that server a connection of its own and read it there.',
      ),
    ]
  // Tables, views, materialized views, partitioned tables. A sequence, for one, is not data.
  if (!'rvmp'.includes(kind))
    return [problem(`${table} is neither a table nor a view.`, 'Read tables and views only.')]
  // What a view reads, it reads with the rights of its owner.
  if (via !== null || readable === 'true') return []
  return [problem(`The reader has no right to read ${table}.`, 'Grant it SELECT, or run "vitrina migrate".')]
}

function judgeObject(object: ReachedObject, rules: GuardRules): Problem[] {
  const { catalog, identity } = object
  if (catalog === 'pg_proc' || catalog === 'pg_operator') return judgeRoutine(object)
  if (catalog === 'pg_type') return judgeType(object, rules)
  // Collations, text search configurations, and the primary key that lets GROUP BY be short: they only describe.
  if (/^pg_(collation|ts_config|ts_dict|constraint)$/.test(catalog)) return []
  return [
    problem(
      `The query depends on ${identity} (${catalog}), which is not known to be safe.`,
      'Write it in another way.',
    ),
  ]
}

/** Also those that no text shows: implicit casts, and the equality behind DISTINCT, GROUP BY and UNION. */
function judgeRoutine({ oid, catalog, identity, schema, via }: ReachedObject): Problem[] {
  if (schema === 'pg_catalog' && Number(oid) < FIRST_ADDED) return []
  const what = catalog === 'pg_proc' ? 'function' : 'operator'
  const who = via === null ? 'The query' : `${via}, which the query uses,`
  return [
    problem(
      `${who} runs the ${what} ${identity}, which is not PostgreSQL's own, so what it does is not known.`,
      'Use functions and operators of pg_catalog only; what else is needed can be a transform.',
    ),
  ]
}

/** A composite type shows the columns of its table. Other types come with a column that may be read, and say nothing. */
function judgeType({ identity, schema, type_kind }: ReachedObject, rules: GuardRules): Problem[] {
  if (type_kind !== 'c' || schema === null || mayRead(schema, rules)) return []
  return [problem(`The type ${identity} may not be used.`, allowedHint(rules.sourceSchemas))]
}

function mayRead(schema: string, rules: GuardRules): boolean {
  return rules.sourceSchemas.includes(schema) && !isSystemSchema(schema)
}

function problem(message: string, hint: string): Problem {
  return { code: 'SOURCE_REFUSED', message, hint, position: null }
}
