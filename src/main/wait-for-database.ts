import { setTimeout as sleep } from 'node:timers/promises'
import { VitrinaError } from '../model/errors.js'
import { checkServer } from '../postgres/server-check.js'
import { requireMigrated } from '../store/migrate.js'
import { withClient } from './connect.js'

const AGAIN_MS = 500

/** Started next to its database, a process is often the faster of the two. */
export interface WaitOptions {
  readonly ms: number
  readonly signal: AbortSignal
  /** Called when the reason changes. */
  readonly onWait: (reason: string) => void
}

/**
 * Resolves when the server accepts connections. What the server itself rejects, such as a wrong password, is thrown
 * at once: waiting does not change it.
 */
export function waitForDatabase(url: string, options: WaitOptions): Promise<void> {
  const isUnreachable = (error: unknown) =>
    error instanceof VitrinaError && error.code === 'DATABASE_UNAVAILABLE'
  return retry(() => withClient(url, async () => {}), isUnreachable, options)
}

/**
 * Resolves when a login of Vitrina finds the meta store at the version that this program needs. Also waits for
 * rejected logins: before the first migration the login does not exist, or has another password.
 */
export function waitForStore(url: string, options: WaitOptions): Promise<void> {
  const connect = () =>
    withClient(url, async (client) => {
      await checkServer(client, url)
      await requireMigrated(async (sql) => (await client.query(sql)).rows)
    })
  return retry(connect, (error) => !isPermanent(error), options)
}

/** A server of another version, or one without a pooler in front, is another address. */
function isPermanent(error: unknown): boolean {
  return (
    error instanceof VitrinaError && (error.code === 'SERVER_TOO_OLD' || error.code === 'POOLER_UNSUITABLE')
  )
}

async function retry(
  attempt: () => Promise<void>,
  isTemporary: (error: unknown) => boolean,
  { ms, signal, onWait }: WaitOptions,
): Promise<void> {
  const until = performance.now() + ms
  let reason = ''
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (!isTemporary(error) || performance.now() >= until) throw error
      const { message } = error as Error
      if (message !== reason) onWait(message)
      reason = message
    }
    await sleep(AGAIN_MS, undefined, { signal })
  }
}
