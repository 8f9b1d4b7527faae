/**
 * The one-time code of a sign-in link (`/ui/#code=…`). Removed from the address first, so that it is neither in the
 * history nor in a screenshot.
 */
export function takeCode(): string | null {
  const code = new URLSearchParams(window.location.hash.slice(1)).get('code')
  if (code !== null) window.history.replaceState(null, '', window.location.pathname + window.location.search)
  return code
}
