import type { Difference, Differences, Judge, Verdict } from './judge.js'
import {
  type ComparedSide,
  type Fingerprint,
  type KeyTexts,
  keyText,
  type Marked,
  portionsOf,
} from './side.js'

/** So many rows are held in memory at most, whatever the size of the tables. */
const ROWS_AT_ONCE = 200_000

/** The two sides of a comparison, and who says what a difference means. */
export interface Parties {
  readonly source: ComparedSide
  readonly target: ComparedSide
  /** Everything that is read of the source meanwhile is read as of one moment. */
  inOneSnapshot<T>(work: () => Promise<T>): Promise<T>
  /** Looks at how far the pipeline has come by now. */
  judge(): Promise<Judge>
}

/**
 * Finds the rows that differ between two databases without carrying the tables over: first a checksum for each bucket
 * of keys, computed where the rows are, then the rows of those buckets whose checksums differ. What differs is looked
 * at once more, so that a row which was written in between is not told as drift.
 */
export async function findDrift(parties: Parties): Promise<Verdict> {
  const { source, target } = parties
  const [there, here] = await Promise.all([source.checksums(), target.checksums()])
  const suspicious = [...new Set([...there.keys(), ...here.keys()])].filter(
    (bucket) => there.get(bucket) !== here.get(bucket),
  )
  const verdicts: Verdict[] = []
  for (const buckets of portions(suspicious, there, here)) {
    const [left, right] = await Promise.all([source.fingerprintsOf(buckets), target.fingerprintsOf(buckets)])
    verdicts.push(await lookAgain(parties, differingKeys(left, right)))
  }
  return together(verdicts)
}

/**
 * How far the pipeline has come, then the mart, then the source: what the pipeline writes in between agrees, and what
 * changes in the source in between is newer than what the pipeline has read. One snapshot of the source, so that a row
 * cannot go away between being compared and being judged.
 */
export async function lookAgain(
  { source, target, judge, inOneSnapshot }: Parties,
  keys: readonly KeyTexts[],
): Promise<Verdict> {
  if (keys.length === 0) return together([])
  const sitting = await judge()
  const right = await rowsOf(target, keys, 'xmin')
  return inOneSnapshot(async () => sitting.judge(diff(await rowsOf(source, keys, sitting.partOfRow), right)))
}

async function rowsOf(side: ComparedSide, keys: readonly KeyTexts[], mark: string): Promise<Marked[]> {
  const rows: Marked[] = []
  for (const portion of portionsOf(keys)) rows.push(...(await side.fingerprintsByKey(portion, mark)))
  return rows
}

/** Buckets in groups of a bounded number of rows. */
function portions(
  buckets: readonly number[],
  there: Map<number, string>,
  here: Map<number, string>,
): number[][] {
  const size = (bucket: number) =>
    Math.max(...[there, here].map((side) => Number((side.get(bucket) ?? '0/').split('/')[0])))
  const groups: number[][] = []
  let rows = Number.POSITIVE_INFINITY
  for (const bucket of buckets) {
    if (rows + size(bucket) > ROWS_AT_ONCE) {
      groups.push([])
      rows = 0
    }
    groups.at(-1)!.push(bucket)
    rows += size(bucket)
  }
  return groups
}

function differingKeys(left: readonly Fingerprint[], right: readonly Fingerprint[]): KeyTexts[] {
  const unmarked = (rows: readonly Fingerprint[]) => rows.map((row) => ({ ...row, mark: null }))
  const { missing, extra, different } = diff(unmarked(left), unmarked(right))
  return [...missing, ...extra, ...different].map(({ key }) => key)
}

function diff(source: readonly Marked[], target: readonly Marked[]): Differences {
  const here = new Map(target.map((row) => [keyText(row.key), row]))
  const there = new Map<string, Marked>()
  // A key that the source gives twice stands once in the mart, as one of the two.
  for (const row of source) {
    const text = keyText(row.key)
    if (!there.has(text) || here.get(text)?.hash === row.hash) there.set(text, row)
  }
  const missing: Difference[] = []
  const different: Difference[] = []
  for (const [text, { key, hash, mark }] of there) {
    const other = here.get(text)
    const part = Number(mark)
    if (other === undefined) missing.push({ key, part, version: null })
    else if (other.hash !== hash) different.push({ key, part, version: other.mark })
    here.delete(text)
  }
  const extra = [...here.values()].map(({ key, mark }) => ({ key, part: null, version: mark }))
  return { missing, extra, different }
}

function together(verdicts: readonly Verdict[]): Verdict {
  const all = (kind: keyof Differences) => verdicts.flatMap(({ drift }) => drift[kind])
  const sum = (count: 'onTheirWay' | 'undecided') =>
    verdicts.reduce((total, verdict) => total + verdict[count], 0)
  return {
    drift: { missing: all('missing'), extra: all('extra'), different: all('different') },
    onTheirWay: sum('onTheirWay'),
    undecided: sum('undecided'),
  }
}
