import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { embeddedFailed } from './embedded-failure.js'
import { absentAsNull, replaceFile } from './files.js'

export const ADMIN = 'vitrina_admin'

export interface Credentials {
  readonly password: string
  /** The port of the last start: a URL that a user has noted keeps working as long as the port is free. */
  readonly port: number | null
}

/**
 * Written before the cluster is created, and reused by every attempt: a kill at any moment leaves either no
 * cluster or one with this password.
 */
export async function loadCredentials(folder: string, clusterExists: boolean): Promise<Credentials> {
  const path = credentialsPath(folder)
  const found = parseCredentials((await absentAsNull(readFile(path, 'utf8'))) ?? '')
  if (found !== null) return found
  if (clusterExists) throw lostCredentials(path)
  const made = { password: randomBytes(24).toString('hex'), port: null }
  await saveCredentials(folder, made)
  return made
}

export async function saveCredentials(folder: string, credentials: Credentials): Promise<void> {
  await replaceFile(credentialsPath(folder), `${JSON.stringify({ user: ADMIN, ...credentials }, null, 2)}\n`)
}

export interface DatabaseAddress {
  readonly port: number
  readonly database: string
  /** Left out where the URL is displayed. */
  readonly password?: string
}

export function databaseUrl({ port, database, password }: DatabaseAddress): string {
  const login = password === undefined ? ADMIN : `${ADMIN}:${password}`
  return `postgres://${login}@127.0.0.1:${port}/${encodeName(database)}`
}

/** pg decodes the path with decodeURI, which keeps %26 and similar: use only what both decode in the same way. */
function encodeName(database: string): string {
  return encodeURI(database).replace(/[?#]/g, encodeURIComponent)
}

function credentialsPath(folder: string): string {
  return join(folder, 'credentials.json')
}

function parseCredentials(text: string): Credentials | null {
  try {
    const { password, port } = JSON.parse(text)
    if (typeof password !== 'string' || password === '') return null
    return { password, port: Number.isInteger(port) ? port : null }
  } catch {
    return null
  }
}

function lostCredentials(path: string): Error {
  return embeddedFailed(
    `the data folder exists, but its password is lost: ${path} is missing or unreadable`,
    {
      remedy: 'Restore that file, or move the data folder elsewhere to start with an empty one.',
    },
  )
}
