/** `/runs?range=&status=&pipeline=`. What is not understood is left out. */
export interface RunsSearch {
  readonly range?: string
  readonly status?: string
  readonly pipeline?: string
}

export function readRunsSearch(search: Record<string, unknown>): RunsSearch {
  const text = (key: string) =>
    typeof search[key] === 'string' && search[key] !== '' ? search[key] : undefined
  return { range: text('range'), status: text('status'), pipeline: text('pipeline') }
}
