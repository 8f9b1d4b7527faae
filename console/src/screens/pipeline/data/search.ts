import { searchText } from '../../../components/search/search-text.js'

/** `/pipelines/$id/data?sort=-rating&filter=rating >= 8`, as the API understands them. */
export interface DataSearch {
  readonly sort?: string | undefined
  readonly filter?: string | undefined
}

export function readDataSearch({ sort, filter }: Record<string, unknown>): DataSearch {
  return { sort: searchText(sort), filter: searchText(filter) }
}
