/** Longer texts are cut for display. */
const LONGEST = 600

/** Quoted texts and names, dollar quotes, comments, words, blanks, anything else. One byte is one character here. */
const PIECES =
  /[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(?:[A-Za-z_]\w*)?\$|--[^\n]*|\/\*[\s\S]*?\*\/|[\w\x80-\xff$]+|\s+|./gs
/** What ends an item of SELECT outside all parentheses. */
const AFTER = /^(from|where|group|having|window|union|intersect|except|order|limit|offset|fetch|for|into|;)$/i
const NAME =
  /(?:"(?:[^"]|"")*"|[A-Za-z_\x80-\xff][\w\x80-\xff$]*)(?:\.(?:"(?:[^"]|"")*"|[A-Za-z_\x80-\xff][\w\x80-\xff$]*))*/y
const BLANK = /^(?:\s|--|\/\*)/

/** The replacement for the name that begins at a position of the text. */
export type Replacements = ReadonlyMap<number, string>

/** The text of a tree. The tree contains start positions in bytes; the ends are found here. */
export class QueryText {
  /** One character for each byte, so that positions of the tree are indexes. */
  readonly #bytes: string

  constructor(sql: string) {
    this.#bytes = Buffer.from(sql).toString('latin1')
  }

  /** One item of a SELECT list, without its name. */
  target(start: number, name: string | null, replacements: Replacements): string {
    const whole = this.#textBetween(start, this.#end(start, 'item'), replacements)
    return cut(name === null ? whole : withoutName(whole, name))
  }

  /** A call, up to its closing parenthesis. */
  call(start: number, replacements: Replacements): string {
    return cut(this.#textBetween(start, this.#end(start, 'call'), replacements))
  }

  #textBetween(start: number, end: number, replacements: Replacements): string {
    const full = this.#oneLine(start, end, replacements)
    return full.length <= LONGEST ? full : this.#oneLine(start, end, new Map())
  }

  /** Comments become blanks, and blanks one space, except inside quotes. */
  #oneLine(start: number, end: number, replacements: Replacements): string {
    const parts: string[] = []
    for (const { text, at, jump } of this.#pieces(start)) {
      if (at >= end) break
      const replacement = replacements.get(at)
      if (replacement === undefined && BLANK.test(text)) addBlank(parts)
      else if (replacement === undefined) parts.push(utf8(text))
      else {
        parts.push(replacement)
        jump(this.#nameEnd(at, text))
      }
    }
    return parts.join('').replace(/^ +| +$/g, '')
  }

  /** `f.title` or `"Film Notes"."Id"`. */
  #nameEnd(start: number, text: string): number {
    NAME.lastIndex = start
    return start + (NAME.exec(this.#bytes)?.[0].length ?? text.length)
  }

  #end(start: number, what: 'item' | 'call'): number {
    const least = what === 'call' ? 1 : 0
    let depth = 0
    let before = ''
    for (const { text, at } of this.#pieces(start)) {
      if (text === '(' || text === '[') depth++
      if ((text === ')' || text === ']') && --depth < least) return what === 'call' ? at + 1 : at
      if (what === 'item' && depth === 0 && (text === ',' || ends(text, before))) return at
      if (!BLANK.test(text)) before = text.toLowerCase()
    }
    return this.#bytes.length
  }

  *#pieces(start: number): Generator<{ text: string; at: number; jump: (to: number) => void }> {
    const pieces = new RegExp(PIECES)
    const jump = (to: number) => {
      pieces.lastIndex = to
    }
    jump(start)
    for (let piece = pieces.exec(this.#bytes); piece !== null; piece = pieces.exec(this.#bytes)) {
      const at = piece.index
      if (/^\$\w*\$$/.test(piece[0])) jump(this.#closing(piece[0], pieces.lastIndex))
      yield { text: this.#bytes.slice(at, pieces.lastIndex), at, jump }
    }
  }

  #closing(quote: string, from: number): number {
    const found = this.#bytes.indexOf(quote, from)
    return found < 0 ? this.#bytes.length : found + quote.length
  }
}

function addBlank(parts: string[]): void {
  if (parts.at(-1) !== ' ') parts.push(' ')
}

function ends(text: string, before: string): boolean {
  if (!AFTER.test(text) || before === 'as' || before === '') return false
  // IS DISTINCT FROM and WITHIN GROUP do not end an item.
  return !(before === 'distinct' && /^from$/i.test(text)) && !(before === 'within' && /^group$/i.test(text))
}

/** `x AS y` and `x y`: the name is the last word. */
function withoutName(text: string, name: string): string {
  const quoted = `"${name.replaceAll('"', '""')}"`
  const ending = [quoted, name].find((word) => text.toLowerCase().endsWith(word.toLowerCase()))
  if (ending === undefined) return text
  const rest = text.slice(0, text.length - ending.length)
  if (!/[\s)\]'"]$/.test(rest)) return text
  const bare = rest.trimEnd()
  return (/\sas$/i.test(bare.slice(-3)) ? bare.slice(0, -2) : bare).trim()
}

function cut(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…`
}

function utf8(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString()
}
