/** `/runs/$id?attempt=&batch=&log=`. */
export interface RunSearch {
  readonly attempt?: number
  readonly batch?: number
  /** `errors`: warnings and errors only. */
  readonly log?: 'errors'
}

export function readRunSearch(search: Record<string, unknown>): RunSearch {
  const count = (key: string) => (/^\d+$/.test(String(search[key])) ? Number(search[key]) : undefined)
  return {
    attempt: count('attempt'),
    batch: count('batch'),
    log: search.log === 'errors' ? 'errors' : undefined,
  }
}
