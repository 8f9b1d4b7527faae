import { searchText } from '../../components/search/search-text.js'

/** `/lineage?node=&up=1&down=1&level=column&view=list&column=`. */
export interface LineageSearch {
  readonly node?: string | undefined
  readonly up?: number | undefined
  readonly down?: number | undefined
  readonly level?: 'column' | undefined
  /** Not given: the graph, on a phone the list. */
  readonly view?: 'graph' | 'list' | undefined
  /** The selected column: its node, `#`, its name. */
  readonly column?: string | undefined
}

export function readLineageSearch(search: Record<string, unknown>): LineageSearch {
  const hops = (key: string) => (/^\d$/.test(String(search[key])) ? Number(search[key]) : undefined)
  const text = (key: string) => searchText(search[key])
  const view = text('view')
  return {
    node: text('node'),
    up: hops('up'),
    down: hops('down'),
    level: search.level === 'column' ? 'column' : undefined,
    view: view === 'graph' || view === 'list' ? view : undefined,
    column: text('column'),
  }
}
