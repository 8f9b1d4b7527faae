import { createHash } from 'node:crypto'

/** `npm run test:long` runs every case. */
export const ALL_CASES = Boolean(process.env.VITRINA_TEST_LONG)

/**
 * A sample of a long list of cases, another one with every seed, in which each label occurs at least once.
 * The order of the cases stays.
 */
export function sampleOf<T>(cases: readonly T[], { key, labels }: Sampling<T>): readonly T[] {
  if (ALL_CASES) return cases
  const covered = new Set<string>()
  const chosen = new Set<T>()
  for (const one of shuffled(cases, key)) {
    if (labels(one).every((label) => covered.has(label))) continue
    chosen.add(one)
    for (const label of labels(one)) covered.add(label)
  }
  return cases.filter((one) => chosen.has(one))
}

interface Sampling<T> {
  /** Tells the case apart from the others. */
  key(one: T): string
  /** What must not go untested: a failpoint, a strategy, a type. */
  labels(one: T): readonly string[]
}

/** As many of the cases as are named, others with every seed. The order stays. */
export function someOf<T>(cases: readonly T[], count: number, key: (one: T) => string): readonly T[] {
  if (ALL_CASES) return cases
  const chosen = shuffled(cases, key).slice(0, count)
  return cases.filter((one) => chosen.includes(one))
}

/** The same order for the same seed, on every machine and in every process. vitest.config.ts sets the seed. */
function shuffled<T>(cases: readonly T[], key: (one: T) => string): T[] {
  const rank = (one: T) =>
    createHash('sha256')
      .update(`${process.env.VITRINA_TEST_SEED} ${key(one)}`)
      .digest('hex')
  return [...cases].sort((a, b) => (rank(a) < rank(b) ? -1 : 1))
}
