export interface NewSearch {
  /** The pipeline to copy. */
  readonly from?: string | undefined
}

export function readNewSearch(search: Record<string, unknown>): NewSearch {
  return typeof search.from === 'string' && search.from !== '' ? { from: search.from } : {}
}
