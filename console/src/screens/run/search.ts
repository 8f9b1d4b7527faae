/** `/runs/$id?batch=&log=&attempt=&q=`. */
export interface RunSearch {
  readonly batch?: number
  /** `errors`: warnings and errors only. */
  readonly log?: 'errors'
  /** Lines of this attempt only. */
  readonly attempt?: number
  /** Lines with this text only. */
  readonly q?: string
}

export function readRunSearch({ batch, log, attempt, q }: Record<string, unknown>): RunSearch {
  return {
    batch: numberOf(batch),
    log: log === 'errors' ? 'errors' : undefined,
    attempt: numberOf(attempt),
    // Digits in an address are read as a number.
    q: q === undefined || q === '' ? undefined : String(q).slice(0, 200),
  }
}

function numberOf(text: unknown): number | undefined {
  return /^\d{1,6}$/.test(String(text)) ? Number(text) : undefined
}
