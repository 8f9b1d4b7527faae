/** In this order: Edge and Opera also call themselves Chrome, and Chrome calls itself Safari. */
const BROWSERS = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['YaBrowser', 'Yandex Browser'],
  ['Firefox', 'Firefox'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
] as const

const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iOS'],
  ['iPad', 'iPadOS'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const

/** `Firefox, Linux` from a user agent; an unknown one is shown unchanged. Null: the browser sent none. */
export function browserName(userAgent: string | null): string | null {
  if (userAgent === null) return null
  const named = [BROWSERS, SYSTEMS].map(
    (names) => names.find(([mark]) => userAgent.includes(mark))?.[1] ?? null,
  )
  const known = named.filter((name) => name !== null)
  return known.length === 0 ? userAgent.slice(0, 60) : known.join(', ')
}
