import { loginUrl } from '../config/settings.js'
import { Child } from './child.js'
import { isPortChosen, type MainSettings } from './environment.js'
import { nextFreePort } from './port.js'
import { type ApiToken, apiToken } from './token.js'

export interface Tree {
  readonly url: string
  readonly token: ApiToken
  /** The port that was wanted, when another one had to be taken. */
  readonly portInstead: number | null
  /** Rejects when a part ends by itself. */
  readonly failed: Promise<never>
}

export interface TreeOptions {
  readonly signal: AbortSignal
  /** For the parts: how much they tell. */
  readonly logLevel: string
  /** Settings that the parts get besides those of this process. */
  readonly env?: Readonly<Record<string, string>>
}

/** API and runner as processes of their own, for the length of `use`. They meet only in the database. */
export async function withTree<T>(
  settings: MainSettings,
  options: TreeOptions,
  use: (tree: Tree) => Promise<T>,
): Promise<T> {
  const token = await apiToken(settings)
  const port = isPortChosen()
    ? settings.VITRINA_PORT
    : await nextFreePort(settings.VITRINA_HOST, settings.VITRINA_PORT)
  const env = {
    ...process.env,
    ...options.env,
    ...WITHOUT_SECRETS,
    LOG_LEVEL: options.logLevel,
    VITRINA_HOST: settings.VITRINA_HOST,
    VITRINA_PORT: String(port),
  }
  const api = new Child('API', ['api'], {
    ...env,
    VITRINA_API_DATABASE_URL: loginUrl(settings, 'meta'),
    VITRINA_READER_DATABASE_URL: loginUrl(settings, 'reader'),
    VITRINA_API_TOKEN: token.token,
  })
  const runner = new Child('runner', ['runner'], {
    ...env,
    VITRINA_RUNNER_DATABASE_URL: loginUrl(settings, 'writer'),
    VITRINA_READER_DATABASE_URL: loginUrl(settings, 'reader'),
  })
  try {
    const failed = Promise.race([api.failed, runner.failed])
    failed.catch(() => {})
    const [url] = await Promise.race([Promise.all([api.ready, runner.ready]), stopped(options.signal)])
    const portInstead = port === settings.VITRINA_PORT ? null : settings.VITRINA_PORT
    return await Promise.race([use({ url, token, portInstead, failed }), failed])
  } finally {
    await Promise.all([api.stop(), runner.stop()])
  }
}

/** Empty, not absent: a part reads .env too, and the administrator's password must not come back that way. */
const WITHOUT_SECRETS = {
  DATABASE_URL: '',
  VITRINA_API_DATABASE_URL: '',
  VITRINA_RUNNER_DATABASE_URL: '',
  VITRINA_READER_DATABASE_URL: '',
  VITRINA_API_TOKEN: '',
}

function stopped(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
