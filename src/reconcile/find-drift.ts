import type { Classification, Difference, Differences, DriftClassifier } from './drift-classifier.js'
import {
  type ComparedSide,
  type Fingerprint,
  type KeyTexts,
  type Marked,
  portionsOf,
  serializeKey,
} from './side.js'

/** Upper limit of rows in memory, whatever the size of the tables. */
const ROWS_AT_ONCE = 200_000

/** The two sides of a comparison and the classifier of their differences. */
export interface DriftSearch {
  readonly source: ComparedSide
  readonly target: ComparedSide
  /** Everything that `work` reads from the source is read in one snapshot. */
  inOneSnapshot<T>(work: () => Promise<T>): Promise<T>
  /** A classifier for the progress that the pipeline has made by now. */
  classifier(): Promise<DriftClassifier>
}

/**
 * Finds the rows that differ between two databases without transferring the tables: first a checksum for each bucket of
 * keys, computed inside each database, then the rows of the buckets whose checksums differ. Differing rows are read a
 * second time, so that a row written in between is not reported as drift.
 */
export async function findDrift(comparison: DriftSearch): Promise<Classification> {
  const { source, target } = comparison
  const [there, here] = await Promise.all([source.checksums(), target.checksums()])
  const suspicious = [...new Set([...there.keys(), ...here.keys()])].filter(
    (bucket) => there.get(bucket) !== here.get(bucket),
  )
  const classifications: Classification[] = []
  for (const buckets of portions(suspicious, there, here)) {
    const [left, right] = await Promise.all([source.fingerprintsOf(buckets), target.fingerprintsOf(buckets)])
    classifications.push(await recheck(comparison, differingKeys(left, right)))
  }
  return merged(classifications)
}

/**
 * Reads the progress of the pipeline, then the mart, then the source: what the pipeline writes in between is equal, and
 * what changes in the source in between is newer than what the pipeline has read. One snapshot of the source, so that a
 * row cannot disappear between comparison and classification.
 */
export async function recheck(
  { source, target, classifier, inOneSnapshot }: DriftSearch,
  keys: readonly KeyTexts[],
): Promise<Classification> {
  if (keys.length === 0) return merged([])
  const classification = await classifier()
  const right = await rowsOf(target, keys, 'xmin')
  return inOneSnapshot(async () =>
    classification.classify(diff(await rowsOf(source, keys, classification.partOfRow), right)),
  )
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
  const here = new Map(target.map((row) => [serializeKey(row.key), row]))
  const there = new Map<string, Marked>()
  // A key that the source returns twice is in the mart once, as either row.
  for (const row of source) {
    const text = serializeKey(row.key)
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

function merged(classifications: readonly Classification[]): Classification {
  const all = (kind: keyof Differences) => classifications.flatMap(({ drift }) => drift[kind])
  const sum = (count: 'onTheirWay' | 'undecided') =>
    classifications.reduce((total, classification) => total + classification[count], 0)
  return {
    drift: { missing: all('missing'), extra: all('extra'), different: all('different') },
    onTheirWay: sum('onTheirWay'),
    undecided: sum('undecided'),
  }
}
