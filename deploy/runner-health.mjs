/**
 * Exit code 0: the runner of this container gave a sign of life within the last 30 s; it does so every 5 s.
 * A runner listens on no port, so its row in the meta store is asked. The host is the container's own.
 */
import { hostname } from 'node:os'
import pg from 'pg'
import { loginUrl, readSettings } from '../dist/config/settings.js'

const ALIVE = `SELECT count(*)::int AS alive FROM etl.etl_runners
  WHERE host = $1 AND stopped_at IS NULL AND heartbeat_at > clock_timestamp() - interval '30 seconds'`

const client = new pg.Client({
  connectionString: loginUrl(readSettings(process.env), 'writer'),
  application_name: 'vitrina-health',
  connectionTimeoutMillis: 3_000,
  query_timeout: 3_000,
})
client.on('error', () => {})
try {
  await client.connect()
  const { rows } = await client.query(ALIVE, [hostname()])
  if (rows[0].alive === 0) throw new Error(`no runner on ${hostname()} gave a sign of life within 30 s`)
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  await client.end().catch(() => {})
}
