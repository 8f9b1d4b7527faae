import type { GuardSession } from '../ports/query-guard.js'
import { databaseError } from '../postgres/errors.js'
import { markOf } from './catalog-mark.js'
import { checkReach } from './check-reach.js'
import { checkCanonical } from './parse.js'
import type { TextPosition } from './position.js'
import { GUARD_VIEW, type Reach, reachOfView } from './reach.js'
import { problemOfServer } from './server-problem.js'
import { similarTable } from './similar-table.js'
import {
  type GuardRules,
  type NamedRelation,
  type QueryProblem,
  refused,
  type ServerVerdict,
} from './verdict.js'

const PREFIX = `CREATE TEMPORARY VIEW ${GUARD_VIEW} AS\n`

/**
 * READ WRITE, because a temporary view writes catalog rows; they never commit. With an empty search_path a name has one
 * meaning, and standard strings match how our parser read the text. The session sets its own time limits:
 * a user at the API waits less than a run at night.
 */
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SET LOCAL search_path = ''; SET LOCAL standard_conforming_strings = on; SET LOCAL quote_all_identifiers = off;
SET LOCAL jit = off`

/** A text that passed checkText, with its findings. */
export interface AcceptedText {
  readonly sql: string
  readonly rules: GuardRules
  readonly relations: readonly NamedRelation[]
}

/**
 * The second layer: how the server itself reads a text that passed the first. Creating a view resolves every name, and
 * plans and runs nothing. The text must have passed: only then is it one SELECT after the prefix too.
 */
export async function readByServer(session: GuardSession, question: AcceptedText): Promise<ServerVerdict> {
  try {
    const problem = await makeView(session, question.sql)
    if (problem !== null) return refused(await withSuggestion(session, problem, question))
    const reach = await reachOfView(session).catch((error) => {
      throw databaseError(error, 'Resolving the source query', 'source')
    })
    const verdict = await decide(reach, question)
    return verdict.ok ? { ...verdict, mark: await markOf(session, reach) } : verdict
  } finally {
    // A lost connection has nothing to roll back.
    await session.run('ROLLBACK').catch(() => {})
  }
}

const NO_SUCH_TABLE = '42P01'

/** A misspelt table is the most common mistake, and PostgreSQL gives no hint for it. */
async function withSuggestion(
  session: GuardSession,
  problem: QueryProblem,
  { rules, relations }: AcceptedText,
): Promise<QueryProblem> {
  if (problem.sqlstate !== NO_SUCH_TABLE) return problem
  await session.run('ROLLBACK')
  const meant = await similarTable(session, rules, relations).catch((error) => {
    throw databaseError(error, 'Searching for a similar table', 'source')
  })
  const hint =
    meant === null ? 'Check the name, or create the table before the first run.' : `Did you mean ${meant}?`
  return { ...problem, hint }
}

async function makeView(session: GuardSession, sql: string): Promise<QueryProblem | null> {
  try {
    await session.run(BEGIN)
    // By the extended protocol, which also rejects a second statement in the text.
    await session.rows(PREFIX + sql)
    return null
  } catch (error) {
    return problemOfServer(error, sql, PREFIX.length)
  }
}

async function decide(reach: Reach, { rules, relations: named }: AcceptedText): Promise<ServerVerdict> {
  const { canonical, columns, relations } = reach
  if (columns.length === 0)
    return refused(refusal('The query returns no columns.', 'Select at least one.', null))
  if (canonical === null)
    return refused(
      refusal(
        'With all columns written out, the query is longer than 1 MiB.',
        'Replace * by the columns that are needed, above all in EXISTS and in rows.',
        null,
      ),
    )
  const verdict = await checkCanonical(canonical, rules)
  const reasons = await checkReach(reach, rules)
  if (reasons.length > 0) {
    const places = new Map(named.map(({ schema, table, position }) => [`${schema}.${table}`, position]))
    return refused(
      ...reasons.map(({ root, message, hint }) => refusal(message, hint, placeOf(root, reach, places))),
    )
  }
  // Its positions refer to the server's text, which the author has never seen.
  if (!verdict.ok)
    return refused(...verdict.problems.map(({ message, hint }) => refusal(message, hint, null)))
  const reached = relations
    .filter(({ kind }) => kind !== 'c')
    .map(({ schema, name }) => ({ schema, table: name }))
  return { ok: true, relations: named, canonical, columns, reached, mark: null }
}

/** From a dependency back to what the author wrote. */
function placeOf(
  name: string | null,
  reach: Reach,
  places: ReadonlyMap<string, TextPosition>,
): TextPosition | null {
  const via = new Map(reach.relations.map((one) => [`${one.schema}.${one.name}`, one.via]))
  // No chain is longer than the number of relations; a bound, in case two views ever refer to each other.
  for (let at = name, step = 0; at !== null && step <= via.size; at = via.get(at) ?? null, step++) {
    const place = places.get(at)
    if (place !== undefined) return place
  }
  return null
}

function refusal(message: string, hint: string, position: TextPosition | null): QueryProblem {
  return { code: 'SOURCE_REFUSED', message, hint, position }
}
