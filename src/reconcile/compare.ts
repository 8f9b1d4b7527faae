import type { DeepDrift, Drift } from '../model/reconcile.js'
import type { Fingerprint, Side } from './side.js'

export interface Differences {
  readonly missing: readonly Fingerprint[]
  readonly extra: readonly Fingerprint[]
  readonly different: readonly Fingerprint[]
}

/** What both sides are compared by, besides the rows themselves. */
export interface CompareOptions {
  readonly keyColumns: readonly string[]
  /** SQL on the source that is true for rows which the pipeline has come past; null: for all. */
  readonly arrived: string | null
  readonly sampleSize: number
}

/** So many rows are held in memory at most, whatever the size of the tables. */
const ROWS_AT_ONCE = 200_000

/**
 * Finds the rows that differ between two databases without carrying the tables over: first a checksum for each bucket
 * of keys, computed where the rows are, then the rows of those buckets whose checksums differ. What differs is looked
 * at once more, so that a row which was written in between is not told as drift.
 */
export async function findDrift(
  source: Side,
  target: Side,
  options: CompareOptions,
): Promise<{ drift: DeepDrift; confirmed: Differences }> {
  const [there, here] = await Promise.all([source.checksums(null), target.checksums(null)])
  const suspicious = [...new Set([...there.keys(), ...here.keys()])].filter(
    (bucket) => there.get(bucket) !== here.get(bucket),
  )
  const found: Differences = { missing: [], extra: [], different: [] }
  let onTheirWay = 0
  for (const buckets of portions(suspicious, there, here)) {
    const [left, right] = await Promise.all([
      source.fingerprintsOf(buckets, null),
      target.fingerprintsOf(buckets, null),
    ])
    const suspects = diff(left, right)
    const confirmed = await confirm(source, target, suspects, options.arrived)
    onTheirWay += count(suspects) - count(confirmed)
    for (const kind of ['missing', 'extra', 'different'] as const)
      (found[kind] as Fingerprint[]).push(...confirmed[kind])
  }
  const sample = (rows: readonly Fingerprint[]): Drift => ({
    count: rows.length,
    keys: rows.slice(0, options.sampleSize).map((row) => row.key),
  })
  const drift = {
    keyColumns: options.keyColumns,
    missing: sample(found.missing),
    extra: sample(found.extra),
    different: sample(found.different),
    onTheirWay,
  }
  return { drift, confirmed: found }
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

function diff(source: readonly Fingerprint[], target: readonly Fingerprint[]): Differences {
  const here = new Map(target.map((row) => [keyOf(row), row]))
  const missing: Fingerprint[] = []
  const different: Fingerprint[] = []
  for (const row of source) {
    const other = here.get(keyOf(row))
    if (other === undefined) missing.push(row)
    else if (other.hash !== row.hash) different.push(row)
    here.delete(keyOf(row))
  }
  return { missing, extra: [...here.values()], different }
}

/**
 * The mart first, the source after it: a row that the pipeline writes in between then agrees. What still differs and
 * has not arrived yet, by the pipeline's own checkpoint, is on its way.
 */
async function confirm(
  source: Side,
  target: Side,
  suspects: Differences,
  arrived: string | null,
): Promise<Differences> {
  const keys = [...suspects.missing, ...suspects.extra, ...suspects.different].map((row) => row.key)
  const right: Fingerprint[] = []
  const left: Fingerprint[] = []
  const settled = new Set<string>()
  for (const portion of chunks(keys, 1_000)) {
    right.push(...(await target.fingerprintsByKey(portion)))
    left.push(...(await source.fingerprintsByKey(portion)))
    if (arrived !== null)
      for (const row of await source.fingerprintsByKey(portion, arrived)) settled.add(keyOf(row))
  }
  const again = diff(left, right)
  const isSettled = (row: Fingerprint) => arrived === null || settled.has(keyOf(row))
  return {
    missing: again.missing.filter(isSettled),
    extra: again.extra,
    different: again.different.filter(isSettled),
  }
}

function* chunks<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size)
}

function keyOf(row: Fingerprint): string {
  return JSON.stringify(row.key)
}

function count(differences: Differences): number {
  return differences.missing.length + differences.extra.length + differences.different.length
}
