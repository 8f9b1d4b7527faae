import { randomBytes } from 'node:crypto'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fileProblem } from '../config/file-problem.js'
import type { Settings } from '../config/settings.js'
import { createFolder } from '../embedded/files.js'
import { VitrinaError } from '../model/errors.js'

export interface ApiToken {
  readonly token: string
  /** `made`: new, so it has to be shown. `kept`: in `path` since an earlier start. */
  readonly origin: 'setting' | 'made' | 'kept'
  readonly path: string
}

/**
 * The administrator's token: the setting, or one that is generated once and stored where only its owner can read it.
 */
export async function apiToken(settings: Settings): Promise<ApiToken> {
  const path = resolve(settings.VITRINA_HOME, 'api-token')
  if (settings.VITRINA_API_TOKEN !== undefined)
    return { token: settings.VITRINA_API_TOKEN, origin: 'setting', path }
  try {
    const made = await makeToken(path)
    if (made !== null) return { token: made, origin: 'made', path }
    return { token: (await readFile(path, 'utf8')).trim(), origin: 'kept', path }
  } catch (error) {
    throw new VitrinaError(
      'SETTING_INVALID',
      `The administrator's token cannot be stored in ${path}: ${fileProblem(error)}.`,
      'Set VITRINA_HOME to a folder that this account may write, or set VITRINA_API_TOKEN.',
      { cause: error },
    )
  }
}

/** For a start without users: a permanent token generated now would never be shown. */
export function withPassingToken<S extends Settings>(settings: S): S {
  return { ...settings, VITRINA_API_TOKEN: settings.VITRINA_API_TOKEN ?? randomToken() }
}

/** With the prefix of all tokens: without it, one of 64 would begin with a dash, like an option of a command. */
function randomToken(): string {
  return `vtr_${randomBytes(24).toString('base64url')}`
}

/**
 * Null if there is one. Created exclusively: of two processes that start at once, one creates it and one reads it.
 */
async function makeToken(path: string): Promise<string | null> {
  await createFolder(dirname(path))
  const token = randomToken()
  try {
    await writeFile(path, `${token}\n`, { mode: 0o600, flag: 'wx' })
    await chmod(path, 0o600)
    return token
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
    return null
  }
}
