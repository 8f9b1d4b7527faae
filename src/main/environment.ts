import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileProblem } from '../config/file-problem.js'
import { readSettings, type Settings } from '../config/settings.js'
import { VitrinaError } from '../model/errors.js'

/** Settings with a known main database. */
export type MainSettings = Settings & { readonly DATABASE_URL: string }

/** Reads `.env` of the working folder, then the environment. The environment takes precedence, also if empty. */
export function readEnvironment(): Settings {
  const file = resolve('.env')
  if (existsSync(file)) loadFile(file)
  return readSettings(process.env)
}

function loadFile(file: string): void {
  try {
    process.loadEnvFile(file)
  } catch (error) {
    throw new VitrinaError(
      'SETTING_INVALID',
      `The settings in ${file} cannot be read: ${fileProblem(error)}.`,
      'Make it a file that this account may read, or start in another folder.',
      { cause: error },
    )
  }
}

/** Whether the port was set explicitly: then another one must not be used silently. */
export function isPortChosen(): boolean {
  return Boolean(process.env.VITRINA_PORT)
}
