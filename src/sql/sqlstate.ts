/** Whether a failure is worth a retry, by its SQLSTATE. */
export function sqlstateOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('E') ? code : null
}

/** Node's codes for a socket that was closed or never connected. */
const SOCKET = /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|EADDRNOTAVAIL)/
/** Messages of pg without a code when the server goes away. */
const GONE =
  /Connection terminated|connection is not queryable|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed/i

export function isLostConnection(error: unknown): boolean {
  const state = sqlstateOf(error)
  // 57P01 to 57P05: the administrator, a crash or a time-out ended the session; 25P03/25P04: it idled too long.
  if (state !== null) return /^(08|57P0[1-5]|25P0[34])/.test(state)
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  return (
    (typeof code === 'string' && SOCKET.test(code)) || (typeof message === 'string' && GONE.test(message))
  )
}

/** The data of a single row was rejected: other rows of the batch may be fine. */
export function isPoison(error: unknown): boolean {
  // 54000: a value too long for an index. P0: RAISE and ASSERT, for example in a trigger of the mart.
  return /^(22|23|P0|54000)/.test(sqlstateOf(error) ?? '')
}

/** The configuration, the schema, the privileges or the data are wrong: a retry cannot help. */
export function isHopeless(error: unknown): boolean {
  // 10 is an invalid XPath, 54 a value or a statement that exceeds PostgreSQL's limits, P0 an error that a function raised.
  return /^(0A|10|21|22|23|28|3D|3F|42|54|P0)/.test(sqlstateOf(error) ?? '')
}
