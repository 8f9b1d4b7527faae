const NAMES = new Map<string, string>()

/** Marks the prepared statements of this program in a session. */
export const STATEMENT_PREFIX = 'vitrina_'

/**
 * Declares a statement that every run sends with the same text: a connection prepares it once, and the server does not
 * parse and plan it again. The text must not depend on a pipeline, because a connection keeps its statements; the columns
 * of its result must not depend on a table.
 */
export function kept(text: string): string {
  if (!NAMES.has(text)) NAMES.set(text, `${STATEMENT_PREFIX}${NAMES.size + 1}`)
  return text
}

/** The name of a kept statement; undefined: it is sent as it is. */
export function nameOfKept(text: string): string | undefined {
  return NAMES.get(text)
}
