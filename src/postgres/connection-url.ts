import { VitrinaError } from '../model/errors.js'

/** Where a pipeline reads or writes: the main database, or one configured in the environment. */
export function connectionUrl(
  connections: ReadonlyMap<string, string>,
  name: string | null,
  main: string,
): string {
  if (name === null) return main
  const url = connections.get(name.toLowerCase())
  if (url !== undefined) return url
  const known = [...connections.keys()].join(', ') || 'none'
  throw new VitrinaError(
    'CONNECTION_UNKNOWN',
    `The connection "${name}" is not configured; configured: ${known}.`,
    `Set VITRINA_CONNECTION_${name.toUpperCase()}_URL for the API and the runners.`,
  )
}
