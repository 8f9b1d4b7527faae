/** `/lineage?node=&up=1&down=1`. */
export interface LineageSearch {
  readonly node?: string
  readonly up?: number
  readonly down?: number
}

export function readLineageSearch(search: Record<string, unknown>): LineageSearch {
  const hops = (key: string) => (/^\d$/.test(String(search[key])) ? Number(search[key]) : undefined)
  const node = typeof search.node === 'string' && search.node !== '' ? search.node : undefined
  return { node, up: hops('up'), down: hops('down') }
}
