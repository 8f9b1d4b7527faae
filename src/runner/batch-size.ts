const START = 20_000
const LEAST = 100
const MOST = 1_000_000
/** Short enough for a pause to be felt at once, long enough for the cost of a commit to vanish. */
const TARGET_MS = 200

/** How many rows the next batch should have: what somebody set, or what keeps a batch near its target duration. */
export class BatchSize {
  #auto = START
  #fixed: number | null

  constructor(fixed: number | null) {
    this.#fixed = fixed
  }

  get rows(): number {
    return this.#fixed ?? this.#auto
  }

  set(fixed: number | null): void {
    this.#fixed = fixed
  }

  took(rows: number, milliseconds: number): void {
    // A small last batch says nothing about a full one.
    if (rows < this.#auto / 2 && milliseconds < TARGET_MS) return
    const factor = Math.min(2, Math.max(0.25, TARGET_MS / Math.max(milliseconds, 1)))
    this.#auto = Math.round(Math.min(MOST, Math.max(LEAST, this.#auto * factor)))
  }
}
