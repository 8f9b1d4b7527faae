import { tooLong } from '../sql/identifiers.js'
import { longNames } from './long-names.js'
import { type ParsedText, parseSql, type Tree } from './parser.js'
import { PassedTexts } from './passed-texts.js'
import { positionAt, positionOfByte, positionOfCharacter, positionsOfBytes } from './position.js'
import type { WalkRules } from './text-findings.js'
import { type GuardRules, type QueryProblem, refused, type Verdict } from './verdict.js'
import { Walk } from './walk.js'

/** Ten times the text of a mart with 2,000 columns. */
const MAX_BYTES = 256 * 1024
/**
 * Lines of characters in comments are shorter, operators much shorter. PostgreSQL scans such a run to its end for each
 * comment opened in it: 100,000 of them took more than 20 s.
 */
const MAX_RUN = 1_000

/** The first layer: checks the text with PostgreSQL's own parser. Needs no server. */
export async function checkQueryText(sql: string, rules: GuardRules): Promise<Verdict> {
  return unreadable(sql) ?? remembered(sql, { ...rules, canonical: false })
}

/** The same walk over a text written by the server. */
export async function checkCanonical(sql: string, rules: GuardRules): Promise<Verdict> {
  return remembered(sql, { ...rules, canonical: true })
}

const passed = new PassedTexts()

/** The result depends only on the text and the rules. */
async function remembered(sql: string, rules: WalkRules): Promise<Verdict> {
  const key = JSON.stringify([rules.canonical, rules.sourceSchemas, sql])
  const known = passed.find(key)
  if (known !== null) return known
  const verdict = decide(sql, await parseSql(sql), rules)
  if (verdict.ok) passed.keep(key, verdict)
  return verdict
}

/** Rejects texts that different parsers may read differently, before any of them does. */
function unreadable(sql: string): Verdict | null {
  if (sql.trim() === '') return refuse('The query is empty.', 'Write a SELECT.')
  if (Buffer.byteLength(sql) > MAX_BYTES)
    return refuse(
      `The query is longer than ${MAX_BYTES / 1024} kB.`,
      'Put a long list of values into a table.',
    )
  // C strings end there: the parser and the server would see different texts.
  if (sql.includes('\0'))
    return refuse('The query contains a NUL character.', 'Remove it.', sql.indexOf('\0'))
  const broken = sql.search(/\p{Surrogate}/u)
  if (broken >= 0)
    return refuse('The query contains half of a surrogate pair.', 'Save the text as UTF-8.', broken)
  const run = Array.from(sql.matchAll(/[-+*/<>=~!@#%^&|`?]{2,}/g)).find(([text]) => text.length > MAX_RUN)
  return run === undefined
    ? null
    : refuse(
        `The query contains ${run[0].length} operator characters in a row.`,
        'Shorten the row.',
        run.index,
      )

  function refuse(message: string, hint: string, offset = 0): Verdict {
    return refused({ code: 'SOURCE_REFUSED', message, hint, position: positionAt(sql, offset) })
  }
}

function decide(sql: string, parsed: ParsedText, rules: WalkRules): Verdict {
  if (parsed.kind === 'syntax') return refused(syntaxProblem(sql, parsed))
  if (parsed.kind === 'deep' || parsed.statements.length !== 1) return refused(shapeProblem(sql, parsed))
  const walk = walkOver((parsed.statements[0]?.stmt ?? {}) as Tree, rules)
  if (walk === null) return refused(tooDeep(sql))
  // The server's text contains no long names.
  const long = rules.canonical ? [] : longNames(sql)
  if (long.length > 0) return refused(...long.map(({ name, offset }) => longProblem(sql, name, offset)))
  if (walk.findings.length === 0) return { ok: true, relations: placed(sql, walk.relations) }
  return refused(
    ...placed(sql, walk.findings).map((finding): QueryProblem => ({ code: 'SOURCE_REFUSED', ...finding })),
  )
}

function longProblem(sql: string, name: string, offset: number): QueryProblem {
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
    // The available stack depends on the caller; the parser's limit is only an estimate.
    if (error instanceof RangeError) return null
    throw error
  }
}

function syntaxProblem(
  sql: string,
  { message, character }: { message: string; character: number },
): QueryProblem {
  if (/^memory exhausted/.test(message)) return tooDeep(sql)
  const strange = /[\u00a0\u2000-\u200f\u2028\u2029\u3000\ufeff]/.exec(sql)
  return {
    code: 'SOURCE_QUERY_FAILED',
    message: `The query has a syntax error: ${message}.`,
    hint:
      strange === null
        ? 'Correct the text at this position.'
        : `The text contains an invisible character (U+${strange[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}), often pasted from a document: replace it with a space.`,
    position: positionOfCharacter(sql, character),
  }
}

function shapeProblem(sql: string, parsed: ParsedText): QueryProblem {
  if (parsed.kind !== 'tree') return tooDeep(sql)
  const [, second] = parsed.statements
  if (second === undefined)
    return {
      code: 'SOURCE_REFUSED',
      message: 'The query is empty: it contains only comments.',
      hint: 'Write a SELECT.',
      position: positionAt(sql, 0),
    }
  const start = Number(second.stmt_location ?? 0)
  return {
    code: 'SOURCE_REFUSED',
    message: `The text contains ${parsed.statements.length} statements.`,
    hint: 'Write a single SELECT.',
    position: positionOfByte(sql, start + leadingBlanks(sql, start)),
  }
}

function tooDeep(sql: string): QueryProblem {
  return {
    code: 'SOURCE_REFUSED',
    message: 'The query is too large, nested too deeply or contains too long a chain of operators.',
    hint: 'Split it with WITH, or use = ANY (ARRAY[…]) and concat() instead of long chains.',
    position: positionAt(sql, 0),
  }
}

function leadingBlanks(sql: string, byte: number): number {
  const rest = Buffer.from(sql).subarray(byte).toString()
  return rest.length - rest.trimStart().length
}
