const START = 20_000
const LEAST = 100
const MOST = 1_000_000
/**
 * How many rows the next batch should have: the configured number, or the one that keeps a batch near its target
 * duration.
 */
export class BatchSize {
  #auto = START
  #fixed: number | null
  readonly #targetMs: number

  constructor(fixed: number | null, targetMs: number) {
    this.#fixed = fixed
    this.#targetMs = targetMs
  }

  get rows(): number {
    return this.#fixed ?? this.#auto
  }

  set(fixed: number | null): void {
    this.#fixed = fixed
  }

  took(rows: number, milliseconds: number): void {
    // A small last batch says nothing about a full one.
    if (rows < this.#auto / 2 && milliseconds < this.#targetMs) return
    const factor = Math.min(2, Math.max(0.25, this.#targetMs / Math.max(milliseconds, 1)))
    this.#auto = Math.round(Math.min(MOST, Math.max(LEAST, this.#auto * factor)))
  }
}
