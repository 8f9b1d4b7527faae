/** `/runners?ended=1`: includes stopped runners. */
export interface RunnersSearch {
  readonly ended?: '1'
}

export function readRunnersSearch({ ended }: Record<string, unknown>): RunnersSearch {
  return { ended: ended === '1' ? '1' : undefined }
}
