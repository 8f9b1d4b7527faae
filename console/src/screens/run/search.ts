/** `/runs/$id?batch=&log=`. */
export interface RunSearch {
  readonly batch?: number
  /** `errors`: warnings and errors only. */
  readonly log?: 'errors'
}

export function readRunSearch(search: Record<string, unknown>): RunSearch {
  return {
    batch: /^\d{1,9}$/.test(String(search.batch)) ? Number(search.batch) : undefined,
    log: search.log === 'errors' ? 'errors' : undefined,
  }
}
