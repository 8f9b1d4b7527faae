/** The database generates ids as lower-case UUIDs. Anything else cannot exist, and is not worth a query. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}
