import type { CheckState } from '../../api/wire.js'

/** `/checks?status=`: the filter of the list in the address. */
export interface ChecksSearch {
  readonly status?: CheckState['status']
}

export const CHECK_FILTERS = ['failed', 'error', 'quarantined', 'warned', 'passed', 'unknown'] as const

export function readChecksSearch({ status }: Record<string, unknown>): ChecksSearch {
  return { status: CHECK_FILTERS.find((each) => each === status) }
}
