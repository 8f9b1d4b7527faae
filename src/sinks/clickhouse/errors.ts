import { type ErrorCode, VitrinaError } from '../../model/errors.js'

/** Name of the CHECK that rejects late writers; it appears in the server's error message. */
export const FENCE_CHECK = 'vitrina_fence'

/** Error codes of ClickHouse (ErrorCodes.cpp) by their meaning for a run. */
const MEANINGS: Readonly<Partial<Record<ErrorCode, readonly number[]>>> = {
  SINK_LOGIN: [192, 193, 194, 516],
  // Timeouts, memory, quotas, too many queries or parts, no space.
  SINK_OVERLOADED: [159, 201, 202, 203, 241, 243, 252, 439, 745],
  SINK_UNAVAILABLE: [209, 210, 279, 425, 999],
  SINK_BLOCKED: [164, 242, 479],
  // A table, database or column no longer exists or has changed.
  SINK_GONE: [8, 10, 16, 60, 81, 218],
}

/** Errors about a value, not about the statement. */
const OF_VALUES = new Set([
  6, 25, 26, 27, 33, 38, 41, 43, 53, 69, 70, 72, 117, 131, 190, 321, 349, 376, 407, 441, 467, 469, 675,
])

/** Temporary errors that are worth a short wait within the attempt. */
const LATER = new Set([202, 252])

const HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  SINK_LOGIN: 'Correct CLICKHOUSE_USERNAME and CLICKHOUSE_PASSWORD, or the credentials in CLICKHOUSE_URL.',
  SINK_OVERLOADED: 'If it persists, check the load of the server: memory, quotas, pending merges, disk.',
  SINK_UNAVAILABLE:
    'Check that the HTTP interface of ClickHouse is reachable at CLICKHOUSE_URL; "vitrina doctor" tests it.',
  SINK_BLOCKED: 'Find out why the table or the user is read-only; the run resumes once it is writable.',
  SINK_GONE: 'If it was dropped or changed intentionally, validate the pipeline and run it again.',
  SINK_REFUSED: 'Correct the table, the grants of the user or target_options.',
}

function serverCode(error: unknown): number | null {
  const { code, type } = error as { code?: unknown; type?: unknown }
  return typeof type === 'string' && /^\d+$/.test(String(code)) ? Number(code) : null
}

export function isAboutValues(error: unknown): boolean {
  const code = serverCode(error)
  return code !== null && OF_VALUES.has(code) && !isLateWriter(error)
}

export function isLateWriter(error: unknown): boolean {
  return serverCode(error) === 469 && (error as Error).message.includes(FENCE_CHECK)
}

/** True when the same request may succeed a moment later. */
export function isTemporary(error: unknown): boolean {
  const code = serverCode(error)
  return code === null ? isNetwork(error) : LATER.has(code)
}

const NETWORK = /ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|socket hang up/

function isNetwork(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return NETWORK.test(`${code} ${message}`)
}

/** Classifies an error of the server or of the connection. */
export function sinkError(error: unknown, doing: string, origin: string): VitrinaError {
  if (error instanceof VitrinaError) return error
  const code = serverCode(error)
  const kind = code === null ? 'SINK_UNAVAILABLE' : meaningOf(code)
  const reason = `${firstLine(error)}${code === null ? '' : ` (code ${code}, ${(error as { type: string }).type})`}`
  return new VitrinaError(kind, `${doing} at ${origin}: ${reason}`, HINTS[kind]!, {
    cause: error,
    facts: code === null ? {} : { clickhouse_code: code },
  })
}

function meaningOf(code: number): ErrorCode {
  const found = Object.entries(MEANINGS).find(([, codes]) => codes.includes(code))
  return found === undefined ? 'SINK_REFUSED' : (found[0] as ErrorCode)
}

/** The remaining lines quote rows and statements at length. */
export function firstLine(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string }
  const line = (message || code || String(error)).split('\n')[0]!.trim().replace(/:$/, '')
  return line.length > 300 ? `${line.slice(0, 300)}…` : line
}
