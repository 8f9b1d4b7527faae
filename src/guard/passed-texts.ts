import type { TextAccepted } from './verdict.js'

/** Enough for a hundred pipelines with long queries; 2 MB at most. */
const MOST_CHARACTERS = 1_000_000

/**
 * Texts that passed, and the names in them. A pipeline is checked before every run and its text seldom changes: a runner
 * that has seen it needs no parser for it again. Rejections are not kept, because a time-out is one too.
 */
export class PassedTexts {
  readonly #most: number
  /** In order of last use: a Map keeps the insertion order. */
  readonly #kept = new Map<string, TextAccepted>()
  #characters = 0

  constructor(most = MOST_CHARACTERS) {
    this.#most = most
  }

  get characters(): number {
    return this.#characters
  }

  find(key: string): TextAccepted | null {
    const found = this.#kept.get(key)
    if (found === undefined) return null
    this.#kept.delete(key)
    this.#kept.set(key, found)
    return found
  }

  keep(key: string, verdict: TextAccepted): void {
    if (this.#kept.has(key)) return
    this.#kept.set(key, verdict)
    this.#characters += key.length
    for (const oldest of this.#kept.keys()) {
      if (this.#characters <= this.#most) return
      this.#kept.delete(oldest)
      this.#characters -= oldest.length
    }
  }
}
