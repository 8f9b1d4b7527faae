import { searchText } from '../../components/search/search-text.js'

/** `/quality?q=&show=&sort=`: the filter of the list in the address. */
export interface QualitySearch {
  readonly q?: string
  readonly show?: ShowFilter
  readonly sort?: string
}

export const SHOW_FILTERS = ['attention', 'late', 'differs', 'never'] as const
export type ShowFilter = (typeof SHOW_FILTERS)[number]

export function readQualitySearch({ q, show, sort }: Record<string, unknown>): QualitySearch {
  return {
    q: searchText(q),
    show: SHOW_FILTERS.find((each) => each === show),
    sort: searchText(sort),
  }
}
