import { tooLong } from '../sql/identifiers.js'
import type { WalkRules } from './findings.js'
import { longNames } from './long-names.js'
import { type Parsed, parseSql, type Tree } from './parser.js'
import { PassedTexts } from './passed-texts.js'
import { positionAt, positionOfByte, positionOfCharacter, positionsOfBytes } from './position.js'
import { type GuardRules, type Problem, refused, type Verdict } from './verdict.js'
import { Walk } from './walk.js'

/** A mart of 2,000 columns fits ten times. */
const MAX_BYTES = 256 * 1024
/**
 * Rulers in comments are shorter, operators much shorter. PostgreSQL reads such a run to its end for each comment that is
 * opened in it: 100,000 of them took more than 20 s.
 */
const MAX_RUN = 1_000

/** The first layer: what the text says, read by PostgreSQL's own parser. No server is asked. */
export async function checkText(sql: string, rules: GuardRules): Promise<Verdict> {
  return unreadable(sql) ?? remembered(sql, { ...rules, canonical: false })
}

/** The same walk over a text that the server wrote. */
export async function checkCanonical(sql: string, rules: GuardRules): Promise<Verdict> {
  return remembered(sql, { ...rules, canonical: true })
}

const passed = new PassedTexts()

/** What a text says depends on nothing but the text and the rules. */
async function remembered(sql: string, rules: WalkRules): Promise<Verdict> {
  const key = JSON.stringify([rules.canonical, rules.sourceSchemas, sql])
  const known = passed.find(key)
  if (known !== null) return known
  const verdict = judge(sql, await parseSql(sql), rules)
  if (verdict.ok) passed.keep(key, verdict)
  return verdict
}

/** Texts that do not mean the same to everybody who reads them, before anybody does. */
function unreadable(sql: string): Verdict | null {
  if (sql.trim() === '') return refuse('There is no query.', 'Write a SELECT.')
  if (Buffer.byteLength(sql) > MAX_BYTES)
    return refuse(
      `The query is longer than ${MAX_BYTES / 1024} kB.`,
      'Put a long list of values into a table.',
    )
  // C ends a text there: the parser would see less than the server, or the other way round.
  if (sql.includes('\0')) return refuse('The query holds a NUL character.', 'Remove it.', sql.indexOf('\0'))
  const broken = sql.search(/\p{Surrogate}/u)
  if (broken >= 0) return refuse('The query holds half of a character.', 'Save the text as UTF-8.', broken)
  const run = Array.from(sql.matchAll(/[-+*/<>=~!@#%^&|`?]{2,}/g)).find(([text]) => text.length > MAX_RUN)
  return run === undefined
    ? null
    : refuse(`The query holds ${run[0].length} operator characters in a row.`, 'Shorten the row.', run.index)

  function refuse(message: string, hint: string, offset = 0): Verdict {
    return refused({ code: 'SOURCE_REFUSED', message, hint, position: positionAt(sql, offset) })
  }
}

function judge(sql: string, parsed: Parsed, rules: WalkRules): Verdict {
  if (parsed.kind === 'syntax') return refused(syntaxProblem(sql, parsed))
  if (parsed.kind === 'deep' || parsed.statements.length !== 1) return refused(shapeProblem(sql, parsed))
  const walk = walkOver((parsed.statements[0]?.stmt ?? {}) as Tree, rules)
  if (walk === null) return refused(tooDeep(sql))
  // What the server wrote has no long names any more.
  const long = rules.canonical ? [] : longNames(sql)
  if (long.length > 0) return refused(...long.map(({ name, offset }) => longProblem(sql, name, offset)))
  if (walk.findings.length === 0) return { ok: true, relations: placed(sql, walk.relations) }
  return refused(
    ...placed(sql, walk.findings).map((finding): Problem => ({ code: 'SOURCE_REFUSED', ...finding })),
  )
}

function longProblem(sql: string, name: string, offset: number): Problem {
  return {
    code: 'SOURCE_REFUSED',
    message: tooLong(name),
    hint: 'Choose a shorter name.',
    position: positionAt(sql, offset),
  }
}

function placed<T extends { byte: number }>(sql: string, found: readonly T[]) {
  const positions = positionsOfBytes(
    sql,
    found.map(({ byte }) => byte),
  )
  return found.map(({ byte, ...rest }, index) => ({ ...rest, position: positions[index]! }))
}

function walkOver(statement: Tree, rules: WalkRules): Walk | null {
  const walk = new Walk(rules)
  try {
    walk.statement(statement)
    return walk
  } catch (error) {
    // How much a stack holds depends on who called; the parser's limit is only a good guess.
    if (error instanceof RangeError) return null
    throw error
  }
}

function syntaxProblem(sql: string, { message, character }: { message: string; character: number }): Problem {
  if (/^memory exhausted/.test(message)) return tooDeep(sql)
  const strange = /[\u00a0\u2000-\u200f\u2028\u2029\u3000\ufeff]/.exec(sql)
  return {
    code: 'SOURCE_QUERY_FAILED',
    message: `PostgreSQL does not understand the query: ${message}.`,
    hint:
      strange === null
        ? 'Correct the text at this place.'
        : `The text holds an invisible character (U+${strange[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}), often pasted from a document: type the blank again.`,
    position: positionOfCharacter(sql, character),
  }
}

function shapeProblem(sql: string, parsed: Parsed): Problem {
  if (parsed.kind !== 'tree') return tooDeep(sql)
  const [, second] = parsed.statements
  if (second === undefined)
    return {
      code: 'SOURCE_REFUSED',
      message: 'There is no query, only comments.',
      hint: 'Write a SELECT.',
      position: positionAt(sql, 0),
    }
  const start = Number(second.stmt_location ?? 0)
  return {
    code: 'SOURCE_REFUSED',
    message: `The text holds ${parsed.statements.length} statements.`,
    hint: 'Write one SELECT and nothing after it.',
    position: positionOfByte(sql, start + leadingBlanks(sql, start)),
  }
}

function tooDeep(sql: string): Problem {
  return {
    code: 'SOURCE_REFUSED',
    message: 'The query is nested too deeply, or a chain of operators in it is too long.',
    hint: 'Split it with WITH, or use = ANY (ARRAY[…]) and concat() instead of long chains.',
    position: positionAt(sql, 0),
  }
}

function leadingBlanks(sql: string, byte: number): number {
  const rest = Buffer.from(sql).subarray(byte).toString()
  return rest.length - rest.trimStart().length
}
