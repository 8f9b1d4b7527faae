interface Page<T> {
  readonly items: T[]
  readonly next_cursor: string | null
}

/** The largest page of the API. */
const PAGE = 200

export interface PageFlags {
  readonly limit?: number
  readonly cursor?: string
}

/** Every item of a list. */
export async function allPages<T>(
  read: (page: { limit: number; cursor?: string }) => Promise<Page<T>>,
): Promise<T[]> {
  const items: T[] = []
  let cursor: string | undefined
  do {
    const page = await read({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) })
    items.push(...page.items)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return items
}

/** The requested page if a limit or a cursor is given, else everything. */
export async function pageOrAll<T>(
  { limit, cursor }: PageFlags,
  read: (page: { limit: number; cursor?: string }) => Promise<Page<T>>,
): Promise<Page<T>> {
  if (limit === undefined && cursor === undefined) return { items: await allPages(read), next_cursor: null }
  return read({ limit: limit ?? PAGE, ...(cursor && { cursor }) })
}
