import type pg from 'pg'
import { LimitedClient } from '../postgres/client.js'
import { lostOr } from '../postgres/errors.js'

const CONNECT_MS = 10_000

/** One connection for the duration of `use`. `timeoutMs` limits connecting and every statement. */
export async function withClient<T>(
  url: string,
  use: (client: pg.Client) => Promise<T>,
  { timeoutMs, name = 'vitrina-cli' }: { timeoutMs?: number; name?: string } = {},
): Promise<T> {
  const client = new LimitedClient({
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: timeoutMs ?? CONNECT_MS,
    ...(timeoutMs === undefined ? {} : { query_timeout: timeoutMs }),
  })
  // A broken connection shows at the next statement; without a listener it would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    return await use(client)
  } catch (error) {
    throw lostOr(error)
  } finally {
    await client.end().catch(() => {})
  }
}
