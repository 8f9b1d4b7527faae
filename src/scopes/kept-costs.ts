/** Tables grow and get new statistics. */
const MOST_AGE_MS = 600_000

interface Kept {
  readonly cost: number
  readonly at: number
}

/** What a cost belongs to: statements of one object, by name, for so many values. */
export interface Priced {
  readonly of: object
  readonly what: string
  readonly size: number
}

/**
 * Costs that the planner named, for numbers of values of the same order of magnitude. They live as long as the object
 * whose statements they belong to.
 */
export class KeptCosts {
  readonly #kept = new WeakMap<object, Map<string, Kept>>()

  async of({ of, what, size }: Priced, ask: () => Promise<number>): Promise<number> {
    const name = `${what} ${Math.ceil(Math.log2(size + 1))}`
    const costs = this.#kept.get(of) ?? new Map<string, Kept>()
    const kept = costs.get(name)
    if (kept !== undefined && performance.now() - kept.at < MOST_AGE_MS) return kept.cost
    const cost = await ask()
    costs.set(name, { cost, at: performance.now() })
    this.#kept.set(of, costs)
    return cost
  }
}
