/** Context lines around a change. */
const CONTEXT = 2

interface Line {
  readonly mark: ' ' | '+' | '-'
  readonly text: string
}

/** A text before and after, line by line, with some unchanged lines around each change. */
export function lineDiff(before: string, after: string): string[] {
  const lines = align(before.split('\n'), after.split('\n'))
  const isNear = lines.map((_, n) =>
    lines.slice(Math.max(0, n - CONTEXT), n + CONTEXT + 1).some(({ mark }) => mark !== ' '),
  )
  return lines.flatMap(({ mark, text }, n) => {
    if (isNear[n]) return [`${mark} ${text}`]
    return isNear[n - 1] || n === 0 ? ['  …'] : []
  })
}

/**
 * By the longest common subsequence. Equal lines at both ends are set aside, because queries mostly change in the
 * middle.
 */
function align(a: readonly string[], b: readonly string[]): Line[] {
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++
  const same = (text: string): Line => ({ mark: ' ', text })
  return [
    ...a.slice(0, head).map(same),
    ...walk(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(same),
  ]
}

function walk(a: readonly string[], b: readonly string[]): Line[] {
  const lengths = commonLengths(a, b)
  const lines: Line[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    const [x, y] = [a[i], b[j]]
    if (x !== undefined && x === y) {
      lines.push({ mark: ' ', text: x })
      i++
      j++
    } else if (x !== undefined && (y === undefined || at(lengths, i + 1, j) >= at(lengths, i, j + 1))) {
      lines.push({ mark: '-', text: x })
      i++
    } else if (y !== undefined) {
      lines.push({ mark: '+', text: y })
      j++
    }
  }
  return lines
}

/** The length of the common subsequence of the rests from i and j. */
function commonLengths(a: readonly string[], b: readonly string[]): number[][] {
  const lengths = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0))
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i]![j] =
        a[i] === b[j] ? at(lengths, i + 1, j + 1) + 1 : Math.max(at(lengths, i + 1, j), at(lengths, i, j + 1))
  return lengths
}

function at(lengths: readonly number[][], i: number, j: number): number {
  return lengths[i]?.[j] ?? 0
}
