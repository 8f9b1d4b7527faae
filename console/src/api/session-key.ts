const KEY = 'vitrina.session'

/** For browsers that block storage: kept as long as the page. */
let held: string | null = null

/**
 * The second half of the session, sent with every request. The cookie alone is not enough: browsers send it to every
 * port of the host, while this storage belongs to the origin, including the port. Read each time: another tab may have
 * signed in or out.
 */
function sessionKey(): string | null {
  try {
    return localStorage.getItem(KEY) ?? held
  } catch {
    return held
  }
}

/** Null: signed out. */
export function keepSessionKey(key: string | null): void {
  held = key
  try {
    if (key === null) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, key)
  } catch {
    // Storage is blocked or full.
  }
}

/** The header of every request. The server requires it even before the sign-in, where its value does not matter. */
export function sessionHeaders(): { readonly 'x-csrf': string } {
  return { 'x-csrf': sessionKey() ?? 'none' }
}
