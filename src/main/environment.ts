import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { readSettings, type Settings } from '../config/settings.js'

/** Settings with a main database that is known. */
export type MainSettings = Settings & { readonly DATABASE_URL: string }

/** Reads `.env` of the working folder, then the environment. What is set in the environment wins, also when empty. */
export function readEnvironment(): Settings {
  const file = resolve('.env')
  if (existsSync(file)) process.loadEnvFile(file)
  return readSettings(process.env)
}

/** Whether somebody chose the port: then another one may not be taken silently. */
export function isPortChosen(): boolean {
  return Boolean(process.env.VITRINA_PORT)
}
