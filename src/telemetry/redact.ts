/** What must never stand in a log, by the name of its field. */
const SECRET_NAME = /passw(or)?d|passphrase|secret|token|authorization|cookie|api_?key|credential/i
const HIDDEN = '***'
/** Deeper than anything we log; it also ends a structure that holds itself. */
const MAX_DEPTH = 6

/**
 * Hides what looks like a secret inside a sentence: drivers quote whole connection URLs in their messages. A password
 * with an unescaped @ must not leave its tail behind, so everything up to the last @ goes.
 */
export function redactText(text: string): string {
  return text
    .replace(/\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s:@/]*:)\S*@/gi, `$1${HIDDEN}@`)
    .replace(/([?&;\s](?:ssl)?(?:password|token|api_?key)=)[^&\s"']+/gi, `$1${HIDDEN}`)
    .replace(/\b(Bearer|Basic)\s+(?!token\b)[\w.~+/=-]+/gi, `$1 ${HIDDEN}`)
}

/** A copy that is fit to be logged: secrets hidden, errors as plain objects. */
export function redactFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return redactEntries(Object.entries(fields), 0)
}

function redactEntries(entries: [string, unknown][], depth: number): Record<string, unknown> {
  const hide = (name: string, value: unknown) =>
    SECRET_NAME.test(name) && value !== null && value !== undefined
  return Object.fromEntries(
    entries.map(([name, value]) => [name, hide(name, value) ? HIDDEN : redactValue(value, depth)]),
  )
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === MAX_DEPTH) return '…'
  if (value instanceof Error) return redactEntries(describe(value), depth + 1)
  if (value instanceof Date) return value
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1))
  return redactEntries(Object.entries(value), depth + 1)
}

/** Chosen parts only: `detail` of a PostgreSQL error quotes the values of rows. */
function describe(error: Error): [string, unknown][] {
  const { code, sqlstate } = error as { code?: unknown; sqlstate?: unknown }
  const parts = {
    type: error.name,
    message: error.message,
    code,
    sqlstate: sqlstate ?? undefined,
    stack: error.stack,
    cause: error.cause,
  }
  return Object.entries(parts).filter(([, value]) => value !== undefined)
}
