import pg from 'pg'
import { lostOr } from '../postgres/errors.js'

const CONNECT_MS = 10_000

/** One connection for the length of `use`. */
export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'vitrina-cli',
    connectionTimeoutMillis: CONNECT_MS,
  })
  // A broken connection shows itself at the next statement; without a listener it would end the process.
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
