import { searchText } from '../../components/search/search-text.js'

/** `/runs/$id?batch=&log=&attempt=&q=&line=`. */
export interface RunSearch {
  readonly batch?: number
  /** `errors`: warnings and errors only. */
  readonly log?: 'errors'
  /** Lines of this attempt only. */
  readonly attempt?: number
  /** Lines with this text only. */
  readonly q?: string
  /** The selected line. */
  readonly line?: number
}

export function readRunSearch({ batch, log, attempt, q, line }: Record<string, unknown>): RunSearch {
  return {
    batch: numberOf(batch),
    log: log === 'errors' ? 'errors' : undefined,
    attempt: numberOf(attempt),
    q: searchText(q)?.slice(0, 200),
    line: numberOf(line, 15),
  }
}

function numberOf(text: unknown, digits = 6): number | undefined {
  return /^\d+$/.test(String(text)) && String(text).length <= digits ? Number(text) : undefined
}
