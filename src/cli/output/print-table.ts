import { alignTable } from './align-table.js'
import { bold, detail, dim, print } from './print.js'
import { visibleText } from './terminal-text.js'

export type Cell = string | number | boolean | null | undefined

/** Wide enough for an id and for most names. */
const WIDEST = 48

/** A table for people. In a pipe nothing is cut, so that grep and awk see everything. */
export function printTable(
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
  none: string,
): void {
  if (rows.length === 0) {
    detail(none)
    return
  }
  const isSeen = process.stdout.isTTY === true
  const width = isSeen ? (process.stdout.columns ?? 120) : Number.POSITIVE_INFINITY
  const cells = rows.map((row) =>
    row.map((cell) => (cell === null || cell === undefined ? '–' : visibleText(String(cell)))),
  )
  const [head = '', line = '', ...body] = alignTable(columns, cells, {
    width,
    widest: isSeen ? WIDEST : Number.POSITIVE_INFINITY,
  })
  print(bold(head))
  print(dim(line))
  for (const text of body) print(text)
}

/** Names and values, one pair per line. */
export function printFields(fields: Readonly<Record<string, Cell>>): void {
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  for (const [name, value] of Object.entries(fields)) {
    const [first = '', ...more] = visibleText(String(value ?? '–')).split('\n')
    print(`${dim(name.padEnd(width))}  ${first}`)
    for (const line of more) print(`${' '.repeat(width)}  ${line}`)
  }
}

/** To the second; `--json` has the microseconds. */
export function momentText(at: string | null | undefined): string | null {
  return at ? `${at.slice(0, 19).replace('T', ' ')}Z` : null
}

export function duration(ms: number | null | undefined): string | null {
  if (ms === null || ms === undefined) return null
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 0)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}

/** In the unit that leaves at most three digits before the point. */
export function bytes(count: number | null | undefined): string | null {
  if (count === null || count === undefined) return null
  const power = Math.min(Math.floor(Math.log2(Math.max(count, 1)) / 10), 4)
  const value = count / 1024 ** power
  return `${value.toFixed(power === 0 || value >= 100 ? 0 : 1)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`
}

/** How to get the rest of a list. */
export function hintAtNextPage(nextCursor: string | null): void {
  if (nextCursor !== null) detail(`More results: --cursor ${nextCursor}`)
}
