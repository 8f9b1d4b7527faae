import type { OutputListener } from '../ports/transforms.js'

const MOST_LINES = 200

/** Passes on lines printed by functions, up to a limit for each batch. */
export class CapturedOutput {
  readonly #output: OutputListener
  readonly #first: string
  #lines = 0
  #last = ''

  /** `first` owns lines printed outside any function, such as those of files being loaded. */
  constructor(onOutput: OutputListener, first: string) {
    this.#output = onOutput
    this.#first = first
  }

  take(transform: string | null, text: string): void {
    this.#lines += 1
    this.#last = transform ?? this.#first
    if (this.#lines <= MOST_LINES) this.#output({ transform: this.#last, text })
  }

  skip(lines: number): void {
    this.#lines += lines
  }

  /** A traceback is always logged in full, regardless of the limit. */
  trace(transform: string, text: string): void {
    for (const line of text.trimEnd().split('\n')) this.#output({ transform, text: line })
  }

  batchEnded(): void {
    const more = this.#lines - MOST_LINES
    if (more > 0) this.#output({ transform: this.#last, text: `… ${more} more lines` })
    this.#lines = 0
  }
}
