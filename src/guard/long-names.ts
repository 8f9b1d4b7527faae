import { isTooLong } from '../model/table-name.js'

export interface LongName {
  readonly name: string
  /** Start position in UTF-16 units. */
  readonly offset: number
}

/** Texts, names, comments and blanks, each as one token; comments and dollar quotes are closed below. */
const PIECES =
  /[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|([uU]&)?"((?:[^"]|"")*)"|\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$|--[^\n]*|\/\*|([\p{L}_][\p{L}\p{N}_$]*)|\s+|./gsu

/**
 * Names that PostgreSQL would truncate, in a text that it can parse. It only raises a notice, and two columns whose
 * names differ beyond the limit would become one.
 */
export function longNames(sql: string): LongName[] {
  const found: LongName[] = []
  PIECES.lastIndex = 0
  for (let piece = PIECES.exec(sql); piece !== null; piece = PIECES.exec(sql)) {
    const [text, isEscaped, quoted, plain] = piece
    if (text === '/*') PIECES.lastIndex = endOfComment(sql, piece.index)
    else if (text.startsWith('$')) PIECES.lastIndex = endOfDollarQuote(sql, text, PIECES.lastIndex)
    const name = quoted === undefined ? plain : unquote(quoted, isEscaped !== undefined)
    if (name !== undefined && isTooLong(name)) found.push({ name, offset: piece.index })
  }
  return found
}

function unquote(quoted: string, isEscaped: boolean): string {
  const name = quoted.replaceAll('""', '"')
  return isEscaped ? name.replace(/\\(?:\+[0-9a-f]{6}|[0-9a-f]{4}|\\)/gi, '?') : name
}

/** PostgreSQL's comments nest. */
function endOfComment(sql: string, start: number): number {
  const marks = /\/\*|\*\//g
  marks.lastIndex = start
  let depth = 0
  for (let mark = marks.exec(sql); mark !== null; mark = marks.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1
    if (depth === 0) return marks.lastIndex
  }
  return sql.length
}

function endOfDollarQuote(sql: string, tag: string, from: number): number {
  if (!/^\$.*\$$/s.test(tag)) return from
  const end = sql.indexOf(tag, from)
  return end < 0 ? from : end + tag.length
}
