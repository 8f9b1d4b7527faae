/**
 * Makes the next thing while the last one is still in use: reading, transforming and writing overlap, and at most one
 * result of each stage waits.
 */
export class Ahead<T> {
  readonly #make: () => Promise<T | null>
  #next: Promise<T | null> | null = null
  #ended = false

  constructor(make: () => Promise<T | null>) {
    this.#make = make
  }

  /** The next one; null: there are no more. */
  async take(): Promise<T | null> {
    const taken = await (this.#next ?? this.#begin())
    if (taken === null) this.#ended = true
    else this.#next = this.#begin()
    return this.#ended ? null : taken
  }

  /** Waits for what is under way; its failure is nobody's any more. */
  async settle(): Promise<void> {
    await this.#next?.catch(() => {})
  }

  #begin(): Promise<T | null> {
    const next = this.#make()
    // Heard by whoever takes it; until then a failure must not end the process.
    next.catch(() => {})
    return next
  }
}
