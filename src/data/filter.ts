import { invalidRequest } from './errors.js'

export const FILTER_OPERATORS = ['=', '!=', '<', '<=', '>', '>='] as const
export type ComparisonOperator = (typeof FILTER_OPERATORS)[number]

/** One condition of a filter; all of them must be true. Values are texts and always become parameters. */
export type FilterCondition =
  | {
      readonly kind: 'compare'
      readonly column: string
      readonly operator: ComparisonOperator
      readonly value: string
    }
  | {
      readonly kind: 'in'
      readonly column: string
      readonly not: boolean
      readonly values: readonly string[]
    }
  | { readonly kind: 'null'; readonly column: string; readonly not: boolean }
  | { readonly kind: 'contains'; readonly column: string; readonly not: boolean; readonly value: string }

type FilterToken =
  | { readonly kind: 'word'; readonly text: string; readonly at: number }
  | { readonly kind: 'name'; readonly text: string; readonly at: number }
  | { readonly kind: 'value'; readonly text: string; readonly at: number }
  | { readonly kind: 'sign'; readonly text: string; readonly at: number }

const MOST_CONDITIONS = 20
const MOST_VALUES = 200
const HINT =
  "Write conditions such as: rating >= 8 and title contains 'star'. Operators: = != < <= > >=, contains, not contains, in (…), not in (…), is null, is not null. Values with spaces belong in '…', column names with special characters in \"…\"."

/**
 * Parses `column operator value`, joined by `and`. It is a small language and not SQL: nothing of the text reaches a
 * statement except as the name of an existing column or as a parameter.
 */
export function parseFilter(text: string): FilterCondition[] {
  return new FilterParser(text).conditions()
}

class FilterParser {
  readonly #tokens: readonly FilterToken[]
  readonly #length: number
  #next = 0

  constructor(text: string) {
    this.#tokens = tokensOf(text)
    this.#length = text.length
  }

  conditions(): FilterCondition[] {
    const found = [this.#condition()]
    while (this.#next < this.#tokens.length) {
      if (!this.#takesWord('and')) throw this.#unexpected('"and" or the end')
      if (found.length === MOST_CONDITIONS)
        throw wrong(`The filter has more than ${MOST_CONDITIONS} conditions.`)
      found.push(this.#condition())
    }
    return found
  }

  #condition(): FilterCondition {
    const column = this.#column()
    const token = this.#peek()
    if (token?.kind === 'sign' && isComparison(token.text)) {
      this.#next += 1
      return { kind: 'compare', column, operator: token.text, value: this.#value() }
    }
    if (this.#takesWord('is')) {
      const not = this.#takesWord('not')
      if (!this.#takesWord('null')) throw this.#unexpected('"null" or "not null"')
      return { kind: 'null', column, not }
    }
    const not = this.#takesWord('not')
    if (this.#takesWord('in')) return { kind: 'in', column, not, values: this.#list() }
    if (this.#takesWord('contains')) return { kind: 'contains', column, not, value: this.#value() }
    throw this.#unexpected('an operator')
  }

  #column(): string {
    const token = this.#peek()
    if (token?.kind !== 'word' && token?.kind !== 'name') throw this.#unexpected('the name of a column')
    this.#next += 1
    return token.text
  }

  #value(): string {
    const token = this.#peek()
    if (token?.kind !== 'word' && token?.kind !== 'value')
      throw this.#unexpected("a value, such as 8 or 'star wars'")
    this.#next += 1
    return token.text
  }

  #list(): string[] {
    this.#requireSign('(')
    const values = [this.#value()]
    while (this.#takesSign(',')) {
      if (values.length === MOST_VALUES)
        throw wrong(`A list in the filter has more than ${MOST_VALUES} values.`)
      values.push(this.#value())
    }
    this.#requireSign(')')
    return values
  }

  #peek(): FilterToken | undefined {
    return this.#tokens[this.#next]
  }

  #takesWord(word: string): boolean {
    const token = this.#peek()
    const takes = token?.kind === 'word' && token.text.toLowerCase() === word
    if (takes) this.#next += 1
    return takes
  }

  #takesSign(sign: string): boolean {
    const token = this.#peek()
    const takes = token?.kind === 'sign' && token.text === sign
    if (takes) this.#next += 1
    return takes
  }

  #requireSign(sign: string): void {
    if (!this.#takesSign(sign)) throw this.#unexpected(`"${sign}"`)
  }

  #unexpected(wanted: string) {
    const token = this.#peek()
    return wrong(
      token === undefined
        ? `The filter ends at position ${this.#length + 1}, where ${wanted} was expected.`
        : `The filter has "${token.text.slice(0, 60)}" at position ${token.at + 1}, where ${wanted} was expected.`,
    )
  }
}

/** Sticky and without nested repetition: each character is read once. */
const TOKENS: readonly (readonly [FilterToken['kind'], RegExp])[] = [
  ['value', /'(?:[^']|'')*'/y],
  ['name', /"(?:[^"]|"")*"/y],
  ['sign', /!=|<>|<=|>=|[=<>(),]/y],
  ['word', /[^\s'"=<>!(),]+/y],
]

function tokensOf(text: string): FilterToken[] {
  const tokens: FilterToken[] = []
  for (let at = 0; at < text.length; ) {
    if (/\s/.test(text[at]!)) {
      at += 1
      continue
    }
    const token = tokenAt(text, at)
    if (token === null) throw wrong(`The filter has an unexpected "${text[at]}" at position ${at + 1}.`)
    tokens.push(token.token)
    at = token.end
  }
  return tokens
}

function tokenAt(text: string, at: number): { readonly token: FilterToken; readonly end: number } | null {
  for (const [kind, expression] of TOKENS) {
    expression.lastIndex = at
    const found = expression.exec(text)?.[0]
    if (found !== undefined) return { token: { kind, text: plain(kind, found), at }, end: at + found.length }
  }
  return null
}

function plain(kind: FilterToken['kind'], found: string): string {
  if (kind === 'value') return found.slice(1, -1).replaceAll("''", "'")
  if (kind === 'name') return found.slice(1, -1).replaceAll('""', '"')
  return found === '<>' ? '!=' : found
}

function isComparison(text: string): text is ComparisonOperator {
  return (FILTER_OPERATORS as readonly string[]).includes(text)
}

function wrong(detail: string) {
  return invalidRequest('filter', detail, HINT)
}
