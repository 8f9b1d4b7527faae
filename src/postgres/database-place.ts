/** Host, port and database: what identifies a database. Never user or password. */
export function partsOf(url: string): { host: string; port: string; database: string } {
  const { hostname, port, pathname } = new URL(url)
  return {
    // The folder of a socket is escaped.
    host: decodeURIComponent(hostname),
    port: port || '5432',
    database: decodeURIComponent(pathname.slice(1)),
  }
}

export function databasePlace(url: string): string {
  const { host, port, database } = partsOf(url)
  return `${host === '127.0.0.1' ? 'localhost' : host}:${port}/${database}`
}

/**
 * Every name of the database that a connection leads to, the main database being null: a mart that is written under one
 * name may be read under another. A connection that is not configured has only its own name.
 */
export function databaseNames(
  mainUrl: string,
  connections: ReadonlyMap<string, string>,
): (connection: string | null) => readonly (string | null)[] {
  const places = new Map<string | null, string>([[null, databasePlace(mainUrl)]])
  for (const [name, url] of connections) places.set(name, databasePlace(url))
  return (connection) => {
    const name = connection?.toLowerCase() ?? null
    const place = places.get(name)
    if (place === undefined) return [name]
    return [...places].filter(([, other]) => other === place).map(([same]) => same)
  }
}
