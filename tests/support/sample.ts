import { createHash } from 'node:crypto'

/** `npm run test:long` runs every case. */
export const ALL_CASES = Boolean(process.env.VITRINA_TEST_LONG)

/**
 * A small sample of a long list of cases, different for every seed, in which each label occurs at least once. The
 * order of the cases is kept.
 */
export function sampleOf<T>(cases: readonly T[], { key, labels }: Sampling<T>): readonly T[] {
  if (ALL_CASES) return cases
  const missing = new Set(cases.flatMap(labels))
  const gain = (one: T) => new Set(labels(one).filter((label) => missing.has(label))).size
  const chosen = new Set<T>()
  const order = shuffled(cases, key)
  while (missing.size > 0) {
    // The first of those that add the most labels.
    const best = order.reduce((most, one) => (gain(one) > gain(most) ? one : most))
    chosen.add(best)
    for (const label of labels(best)) missing.delete(label)
  }
  return cases.filter((one) => chosen.has(one))
}

interface Sampling<T> {
  /** Identifies the case. */
  key(one: T): string
  /** What must not go untested: a failpoint, a strategy, a type. */
  labels(one: T): readonly string[]
}

/** The given number of cases, different for every seed. The order is kept. */
export function someOf<T>(cases: readonly T[], count: number, key: (one: T) => string): readonly T[] {
  if (ALL_CASES) return cases
  const chosen = shuffled(cases, key).slice(0, count)
  return cases.filter((one) => chosen.includes(one))
}

/**
 * `count` of the cases, different for every seed. The next place gets the next case, so that as many places as there
 * are cases run all of them.
 */
export function inTurn<T>(cases: readonly T[], place: number, count = 1): readonly T[] {
  if (ALL_CASES) return cases
  const start = Number.parseInt(hashOf('start').slice(0, 8), 16) + place
  return Array.from({ length: count }, (_, n) => cases[(start + n) % cases.length]!)
}

/** The same order for the same seed, on every machine and in every process. vitest.config.ts sets the seed. */
function shuffled<T>(cases: readonly T[], key: (one: T) => string): T[] {
  const rank = (one: T) => hashOf(key(one))
  return [...cases].sort((a, b) => (rank(a) < rank(b) ? -1 : 1))
}

function hashOf(text: string): string {
  return createHash('sha256').update(`${process.env.VITRINA_TEST_SEED} ${text}`).digest('hex')
}
