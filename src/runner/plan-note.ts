import type { RunPlan } from '../model/claim.js'

/** A run that is over by then has its plan recorded with its end. */
const NOTE_AFTER_MS = 200

/** Records the plan of an attempt: on its own while the run is in progress, or with the statement that ends it. */
export class PlanNote {
  readonly #plan: RunPlan
  readonly #write: (plan: RunPlan) => Promise<void>
  readonly #timer: NodeJS.Timeout
  #written: Promise<void> | null = null

  constructor(plan: RunPlan, write: (plan: RunPlan) => Promise<void>) {
    this.#plan = plan
    this.#write = write
    this.#timer = setTimeout(() => {
      this.written().catch(() => {})
    }, NOTE_AFTER_MS)
  }

  /** Until it is recorded. */
  written(): Promise<void> {
    clearTimeout(this.#timer)
    this.#written ??= this.#write(this.#plan)
    return this.#written
  }

  /** The plan for the statement that ends the run; null: it is recorded. */
  async toNote(): Promise<RunPlan | null> {
    clearTimeout(this.#timer)
    if (this.#written === null) return this.#plan
    await this.#written
    return null
  }

  /** The run has ended with the plan. */
  noted(): void {
    this.#written ??= Promise.resolve()
  }

  /** For a run that is left before its end. */
  async settle(isWritable: boolean): Promise<void> {
    clearTimeout(this.#timer)
    if (isWritable) await this.written().catch(() => {})
  }
}
