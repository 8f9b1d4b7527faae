import { type ErrorCode, VitrinaError } from '../../model/errors.js'

/** The name of the check that keeps late writers out; it is found in the server's words when one was refused. */
export const FENCE_CHECK = 'vitrina_fence'

/** Error codes of ClickHouse (ErrorCodes.cpp) by what they mean to a run. */
const MEANINGS: Readonly<Partial<Record<ErrorCode, readonly number[]>>> = {
  SINK_LOGIN: [192, 193, 194, 516],
  // Timeouts, memory, quotas, too many queries or parts, no space.
  SINK_OVERLOADED: [159, 201, 202, 203, 241, 243, 252, 439, 745],
  SINK_UNAVAILABLE: [209, 210, 279, 425, 999],
  SINK_BLOCKED: [164, 242, 479],
  // A table, a database or a column that was there is not, or is another one.
  SINK_GONE: [8, 10, 16, 60, 81, 218],
}

/** What the server says of a value, not of the statement. */
const OF_VALUES = new Set([
  6, 25, 26, 27, 33, 38, 41, 43, 53, 69, 70, 72, 117, 131, 190, 321, 349, 376, 407, 441, 467, 469, 675,
])

/** The server asks to come again later: worth a short wait within the attempt. */
const LATER = new Set([202, 252])

const HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  SINK_LOGIN: 'Correct CLICKHOUSE_USERNAME and CLICKHOUSE_PASSWORD, or what CLICKHOUSE_URL says of them.',
  SINK_OVERLOADED:
    'If it stays, look at the load of the server: memory, quotas, merges that do not keep up, disk.',
  SINK_UNAVAILABLE:
    'See whether the HTTP interface of ClickHouse answers at CLICKHOUSE_URL; "vitrina doctor" tries it.',
  SINK_BLOCKED: 'See why the table or the user is read-only; the run goes on when it no longer is.',
  SINK_GONE: 'If somebody dropped or changed it on purpose, validate the pipeline and run it again.',
  SINK_REFUSED: 'Correct the table, the grants of the user or the options of the target.',
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
export function mayPass(error: unknown): boolean {
  const code = serverCode(error)
  return code === null ? isNetwork(error) : LATER.has(code)
}

const NETWORK = /ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|socket hang up/

function isNetwork(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return NETWORK.test(`${code} ${message}`)
}

/** What the server or the way to it said, as an error of ours. */
export function sinkError(error: unknown, doing: string, origin: string): VitrinaError {
  if (error instanceof VitrinaError) return error
  const code = serverCode(error)
  const kind = code === null ? 'SINK_UNAVAILABLE' : meaningOf(code)
  const said = `${firstLine(error)}${code === null ? '' : ` (code ${code}, ${(error as { type: string }).type})`}`
  return new VitrinaError(kind, `${doing} at ${origin}: ${said}`, HINTS[kind]!, {
    cause: error,
    facts: code === null ? {} : { clickhouse_code: code },
  })
}

function meaningOf(code: number): ErrorCode {
  const found = Object.entries(MEANINGS).find(([, codes]) => codes.includes(code))
  return found === undefined ? 'SINK_REFUSED' : (found[0] as ErrorCode)
}

/** The rest quotes rows and statements at length. */
export function firstLine(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string }
  const line = (message || code || String(error)).split('\n')[0]!.trim().replace(/:$/, '')
  return line.length > 300 ? `${line.slice(0, 300)}…` : line
}
