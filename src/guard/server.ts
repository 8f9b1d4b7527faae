import { databaseError } from '../postgres/errors.js'
import { judgeReach } from './judge-reach.js'
import { checkCanonical } from './parse.js'
import { type GuardSession, type Reach, reachOfView, VIEW } from './reach.js'
import { problemOfServer } from './server-problem.js'
import { type GuardRules, type Problem, refused, type ServerVerdict } from './verdict.js'

const PREFIX = `CREATE TEMPORARY VIEW ${VIEW} AS\n`

/**
 * READ WRITE, because a temporary view writes catalog rows; they never commit. With an empty search_path a name means
 * one thing only, and standard strings are how our parser read the text. The limits: a verdict waits for nobody.
 */
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SET LOCAL search_path = ''; SET LOCAL standard_conforming_strings = on; SET LOCAL quote_all_identifiers = off;
SET LOCAL jit = off; SET LOCAL lock_timeout = '5s'; SET LOCAL statement_timeout = '15s'`

/**
 * The second layer: how the server itself reads a text that passed the first. Making a view of it resolves every name,
 * and plans and runs nothing. The text must have passed checkText: only then is it one SELECT after the prefix too.
 */
export async function readByServer(
  session: GuardSession,
  sql: string,
  rules: GuardRules,
): Promise<ServerVerdict> {
  try {
    const problem = await makeView(session, sql)
    if (problem !== null) return refused(problem)
    const reach = await reachOfView(session).catch((error) => {
      throw databaseError(error, 'Reading what the source query leads to')
    })
    return await judge(reach, rules)
  } finally {
    // A connection that is lost has nothing to roll back.
    await session.run('ROLLBACK').catch(() => {})
  }
}

async function makeView(session: GuardSession, sql: string): Promise<Problem | null> {
  try {
    await session.run(BEGIN)
    // By the extended protocol: a second statement in the text would be refused here as well.
    await session.rows(PREFIX + sql)
    return null
  } catch (error) {
    return problemOfServer(error, sql, PREFIX.length)
  }
}

async function judge(reach: Reach, rules: GuardRules): Promise<ServerVerdict> {
  const { canonical, columns, relations } = reach
  const verdict = await checkCanonical(canonical, rules)
  // Its places are those of the server's text, which the author has never seen.
  const unseen = verdict.ok ? [] : verdict.problems.map((problem) => ({ ...problem, position: null }))
  const problems = [...unseen, ...(await judgeReach(reach, rules))]
  if (!verdict.ok || problems.length > 0) return refused(...problems)
  const reached = relations.map(({ schema, name }) => ({ schema, table: name }))
  return { ok: true, relations: verdict.relations, canonical, columns, reached }
}
