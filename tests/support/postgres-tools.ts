import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type DataLocation, findPlace } from '../../src/embedded/place.js'
import type { Found } from './found.js'

/** A PostgreSQL with all its programs: packages of server binaries have neither pg_basebackup nor pg_resetwal. */
const DEBIAN = '/usr/lib/postgresql/15/bin'

const run = promisify(execFile)

export function findPostgresTools(): Found {
  const missing = ['postgres', 'pg_basebackup', 'pg_resetwal'].find((name) => !existsSync(join(DEBIAN, name)))
  return missing === undefined ? { path: DEBIAN } : { missing: `${join(DEBIAN, missing)} does not exist` }
}

/** Runs a program for the server that lives in `home`, as the account that owns its data. */
export async function runTool(
  home: string,
  program: (place: DataLocation) => readonly string[],
  env: Record<string, string> = {},
): Promise<void> {
  const place = await findPlace(home, () => {})
  const [file = '', ...args] = program(place)
  const { account, dataDir } = place
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  if (account !== null) await chown(dataDir, account.uid, account.gid)
  await run(join(DEBIAN, file), args, {
    cwd: place.base,
    env: { PATH: process.env.PATH ?? '', ...env },
    ...(account === null ? {} : { uid: account.uid, gid: account.gid }),
  })
}
