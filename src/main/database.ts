import type { Settings } from '../config/settings.js'
import type { EmbeddedServer } from '../embedded/index.js'
import { embeddedCaptureUrl } from '../model/logins.js'
import { DATABASE, runningEmbedded } from './embedded-url.js'
import type { MainSettings } from './environment.js'

export interface StartOptions {
  /** Aborts a start in progress. */
  readonly signal: AbortSignal
  readonly onProgress: (message: string) => void
  /**
   * `join`: an embedded server that another process of this installation runs is acceptable. `own`: it must be ours.
   */
  readonly embedded: 'own' | 'join'
}

/**
 * Passes the main database to `use`: the one in DATABASE_URL, or an embedded one that lives as long as `use`.
 * `server` is null unless this process runs it.
 */
export async function withMainDatabase<T>(
  settings: Settings,
  options: StartOptions,
  use: (settings: MainSettings, server: EmbeddedServer | null) => Promise<T>,
): Promise<T> {
  if (settings.DATABASE_URL !== undefined)
    return use({ ...settings, DATABASE_URL: settings.DATABASE_URL }, null)
  const running = options.embedded === 'join' ? await runningEmbedded(settings.VITRINA_HOME) : null
  if (running !== null) return use(withEmbedded(settings, running), null)
  const { signal, onProgress } = options
  // Not at the top: most commands run without their own database.
  const { startEmbedded } = await import('../embedded/index.js')
  const { createCaptureLogin } = await import('../store/roles.js')
  const server = await startEmbedded({
    home: settings.VITRINA_HOME,
    database: DATABASE,
    signal,
    onProgress,
    // So that capture wal works without a restart.
    settings: { wal_level: 'logical' },
  })
  try {
    await createCaptureLogin(server.url)
    return await use(withEmbedded(settings, server.url), server)
  } finally {
    await server.stop()
  }
}

/** For api and runner started alone: they join an existing server, because a database of their own would be empty. */
export async function withExistingDatabase(settings: Settings): Promise<Settings> {
  if (settings.DATABASE_URL !== undefined) return settings
  const running = await runningEmbedded(settings.VITRINA_HOME)
  return running === null ? settings : withEmbedded(settings, running)
}

function withEmbedded(settings: Settings, url: string): MainSettings {
  const { VITRINA_CAPTURE_DATABASE_URL: capture = embeddedCaptureUrl(url) } = settings
  return { ...settings, DATABASE_URL: url, VITRINA_CAPTURE_DATABASE_URL: capture }
}
