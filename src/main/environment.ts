import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { readSettings, type Settings } from '../config/settings.js'

/** Settings with a known main database. */
export type MainSettings = Settings & { readonly DATABASE_URL: string }

/** Reads `.env` of the working folder, then the environment. The environment takes precedence, also if empty. */
export function readEnvironment(): Settings {
  const file = resolve('.env')
  if (existsSync(file)) process.loadEnvFile(file)
  return readSettings(process.env)
}

/** Whether the port was set explicitly: then another one must not be used silently. */
export function isPortChosen(): boolean {
  return Boolean(process.env.VITRINA_PORT)
}
