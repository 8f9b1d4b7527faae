const GAP = '  '

/** Lines of an aligned table that fits into `width`. Columns that do not fit are counted, not cut in the middle. */
export function alignTable(
  columns: readonly string[],
  rows: readonly (readonly (string | null)[])[],
  { width, widest }: { readonly width: number; readonly widest: number },
): string[] {
  const cells = [columns, ...rows].map((row) => row.map((cell) => shorten(cell ?? '∅', widest)))
  const widths = columns.map((_, n) => Math.max(...cells.map((row) => widthOf(row[n] ?? ''))))
  const shown = countFitting(widths, width)
  const line = (row: readonly string[]) =>
    row
      .slice(0, shown)
      .map((cell, n) => cell + ' '.repeat((widths[n] ?? 0) - widthOf(cell)))
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
  if (widthOf(oneLine) <= widest) return oneLine
  let kept = ''
  for (const letter of oneLine) {
    if (widthOf(kept + letter) >= widest) break
    kept += letter
  }
  return `${kept}…`
}

/** Columns of a terminal: Chinese, Japanese and Korean characters take two, combining marks none. */
function widthOf(text: string): number {
  const wide = text.match(WIDE)?.length ?? 0
  const none = text.match(/\p{Mn}/gu)?.length ?? 0
  return [...text].length + wide - none
}

const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60]/gu
