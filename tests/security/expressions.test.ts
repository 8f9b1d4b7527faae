import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { SECRETS } from '../../src/telemetry/redact.js'

const ROOTS = ['src/', 'console/src/']
const rootOf = (folder: string) => fileURLToPath(new URL(`../../${folder}`, import.meta.url))
const MEGABYTE = 1024 * 1024
/** For a megabyte: a linear expression takes milliseconds, a quadratic one minutes. */
const LIMIT_MS = 2_000
/** How much smaller the text of the first test is. */
const PART = 8

interface Expression {
  readonly place: string
  readonly source: string
  readonly flags: string
}

/** Every expression that is written down in the product. */
function writtenDown(): Expression[] {
  const files = ROOTS.flatMap((folder) =>
    readdirSync(rootOf(folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  return files
    .filter((file) => /\.(m?ts|tsx)$/.test(file) && !/\.test\.ts$|corpus/.test(file))
    .flatMap((file) => {
      const source = ts.createSourceFile(
        file,
        readFileSync(rootOf(file), 'utf8'),
        ts.ScriptTarget.Latest,
        true,
      )
      const found: Expression[] = []
      const visit = (node: ts.Node): void => {
        const literal = ts.isRegularExpressionLiteral(node) ? /^\/(.*)\/(\w*)$/s.exec(node.text) : null
        if (literal !== null) {
          const { line } = source.getLineAndCharacterOfPosition(node.getStart())
          found.push({ place: `${file}:${line + 1}`, source: literal[1]!, flags: literal[2]! })
        }
        node.forEachChild(visit)
      }
      visit(source)
      return found
    })
}

/** Those that are put together from parts, with the parts as they are at most. */
const PUT_TOGETHER: readonly Expression[] = SECRETS.map(([{ source, flags }], n) => ({
  place: `telemetry/redact.ts, secret ${n}`,
  source,
  flags,
}))

const PIECES = [
  ...[' ', '\n', 'a', '0', '1.', '-', '_', '"', "'", '\\', '/', '*', '/*', '--', '(', ')', '[', '{', '}'],
  ...['$', '%', '<', '://', 'x://y:', '@', '=', '&', ',', '.', ';', ':', 'ж', 'a ', '\\"', "''", '""'],
  ...['${env:', 'Bearer ', 'password=', 'password="', "token'", 'cookie:', 'vtr_', ' as', 'now', '0e', '+-'],
  ...['host=a ', 'password=a '],
]

const context = createContext({})

/** Whether the expression comes to an end with this text. */
function ends({ source, flags }: Expression, text: string, limitMs: number): boolean {
  Object.assign(context, { source, flags: flags.replace('y', ''), text })
  const code =
    '{ const e = new RegExp(source, flags); e.global ? text.replace(e, "") : e.exec(text); undefined }'
  try {
    runInContext(code, context, { timeout: limitMs })
    return true
  } catch (error) {
    if (/timed out/.test((error as Error).message)) return false
    throw error
  }
}

/** Its own letters are what it waits for. */
function lettersOf({ source }: Expression): string {
  return source
    .replace(/\\(.)/g, '$1')
    .replace(/[()[\]{}?*+|^$]/g, '')
    .slice(0, 20)
}

/**
 * A megabyte is tried only where an eighth of it takes a 64th of the limit: whatever needs more than the limit for a
 * megabyte, because its time grows with the square of the length, needs more than that for an eighth.
 */
function isSlow(expression: Expression, start: string, piece: string): boolean {
  const text = (length: number) => `${start}${piece.repeat(Math.ceil(length / piece.length))}\u0001!`
  return (
    !ends(expression, text(MEGABYTE / PART), Math.floor(LIMIT_MS / PART ** 2)) &&
    !ends(expression, text(MEGABYTE), LIMIT_MS)
  )
}

/** The piece that makes it slow, if one does. */
function slowPiece(expression: Expression): string | undefined {
  const own = lettersOf(expression)
  return [...PIECES, own].find((piece) => piece !== '' && isSlow(expression, own.slice(0, 12), piece))
}

describe('every expression of the product', () => {
  const expressions = [...writtenDown(), ...PUT_TOGETHER]

  it('is found', () => {
    expect(expressions.length).toBeGreaterThan(250)
  })

  it('takes linear time, whatever a megabyte of text is made of', () => {
    // Without a repetition there is nothing to go back to. Some are written down in several places.
    const repeating = expressions.filter(({ source }) => /[*+]|\{\d*,/.test(source))
    const once = new Map(repeating.map((each) => [`${each.source}/${each.flags}`, each]))
    const slow = [...once.values()].flatMap((expression) => {
      const piece = slowPiece(expression)
      return piece === undefined
        ? []
        : [`${expression.place} /${expression.source}/ on a megabyte of ${JSON.stringify(piece)}`]
    })
    expect(slow).toEqual([])
  }, 900_000)

  it('is caught when it is quadratic', () => {
    const quadratic = { place: '', source: '\\b(x:\\/\\/[^\\s:@/]*:)\\S*@', flags: 'g' }
    expect(isSlow(quadratic, '', 'x://y:')).toBe(true)
  })
})
