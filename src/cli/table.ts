const WIDEST_CELL = 20
const GAP = '  '

/** Lines of an aligned table that fit into `width`. Columns that do not fit are counted, not cut in the middle. */
export function alignTable(
  columns: readonly string[],
  rows: readonly (readonly (string | null)[])[],
  width: number,
  widest = WIDEST_CELL,
): string[] {
  const cells = [columns, ...rows].map((row) => row.map((cell) => shorten(cell ?? '∅', widest)))
  const widths = columns.map((_, n) => Math.max(...cells.map((row) => row[n]?.length ?? 0)))
  const shown = countFitting(widths, width)
  const line = (row: readonly string[]) =>
    row
      .slice(0, shown)
      .map((cell, n) => cell.padEnd(widths[n] ?? 0))
      .join(GAP)
      .trimEnd()
  const [head = [], ...body] = cells
  const rest = columns.length - shown
  const more =
    rest === 0
      ? []
      : [`… and ${rest} more column${rest === 1 ? '' : 's'}: ${columns.slice(shown).join(', ')}`]
  return [line(head), line(widths.map((n) => '─'.repeat(n))), ...body.map(line), ...more]
}

function countFitting(widths: readonly number[], width: number): number {
  let used = 0
  const fitting = widths.findIndex((cell) => {
    used += cell + GAP.length
    return used - GAP.length > width
  })
  return fitting === -1 ? widths.length : Math.max(1, fitting)
}

function shorten(text: string, widest: number): string {
  const oneLine = text.replace(/\s+/g, ' ')
  return oneLine.length <= widest ? oneLine : `${oneLine.slice(0, widest - 1)}…`
}
