import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { SECRETS } from '../../src/telemetry/redact.js'

const ROOT = fileURLToPath(new URL('../../src/', import.meta.url))
const MEGABYTE = 1024 * 1024
/** A linear expression takes milliseconds, a quadratic one minutes. */
const LIMIT_MS = 5_000

interface Expression {
  readonly place: string
  readonly source: string
  readonly flags: string
}

/** Every expression that is written down in the product. */
function writtenDown(): Expression[] {
  return readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.m?ts$/.test(file) && !/\.test\.ts$|corpus/.test(file))
    .flatMap((file) => {
      const source = ts.createSourceFile(
        file,
        readFileSync(join(ROOT, file), 'utf8'),
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
]

const context = createContext({})

/** Whether the expression comes to an end with a megabyte of this. */
function ends({ source, flags }: Expression, text: string): boolean {
  Object.assign(context, { source, flags: flags.replace('y', ''), text })
  const code =
    '{ const e = new RegExp(source, flags); e.global ? text.replace(e, "") : e.exec(text); undefined }'
  try {
    runInContext(code, context, { timeout: LIMIT_MS })
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

function attacks(expression: Expression): string[] {
  const own = lettersOf(expression)
  return [...PIECES, own]
    .filter((piece) => piece !== '')
    .map((piece) => `${own.slice(0, 12)}${piece.repeat(Math.ceil(MEGABYTE / piece.length))}\u0001!`)
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
      const text = attacks(expression).find((attack) => !ends(expression, attack))
      return text === undefined
        ? []
        : [`${expression.place} /${expression.source}/ on ${JSON.stringify(text.slice(0, 40))}…`]
    })
    expect(slow).toEqual([])
  }, 900_000)

  it('is caught when it is quadratic', () => {
    const quadratic = { place: '', source: '\\b(x:\\/\\/[^\\s:@/]*:)\\S*@', flags: 'g' }
    expect(ends(quadratic, 'x://y:'.repeat(MEGABYTE / 6))).toBe(false)
  })
})
