const firstVersions = new Map<string, number>()

/** Marks a query that servers before this major version do not support. */
export function since(major: number, query: string): string {
  firstVersions.set(query, major)
  return query
}

export function isKnownTo(major: number, query: string): boolean {
  return major >= (firstVersions.get(query) ?? 0)
}
