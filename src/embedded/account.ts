import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { CHILD_ENV } from './child-env.js'
import { embeddedFailed } from './embedded-failure.js'
import { absentAsNull } from './files.js'
import { areWeRoot } from './process-identity.js'

/** The account that runs the server when we are root: PostgreSQL refuses to run as root. */
export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/**
 * Null: we are an ordinary user and run it ourselves.
 * Existing data decides: only its owner can open it, whatever accounts were added since.
 */
export async function chooseAccount(dataDir: string): Promise<Account | null> {
  if (!areWeRoot()) return null
  const owner = await absentAsNull(stat(dataDir))
  if (owner !== null && owner.uid !== 0) return { name: `uid ${owner.uid}`, uid: owner.uid, gid: owner.gid }
  const passwd = await readFile('/etc/passwd', 'utf8')
  const account = findAccount(passwd, 'postgres') ?? findAccount(passwd, 'nobody')
  if (account !== null) return account
  const accounts = '"postgres" or "nobody"' // words:allow
  throw embeddedFailed(`PostgreSQL does not run as root, and no account ${accounts} exists`, {
    remedy: 'Start Vitrina as an ordinary user.',
  })
}

function findAccount(passwd: string, name: string): Account | null {
  const line = passwd.split('\n').find((entry) => entry.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid === undefined || gid === undefined ? null : { name, uid: Number(uid), gid: Number(gid) }
}

/** Tested as the account: mode bits alone would miss access lists and mount options. */
export async function canEnter(account: Account, folder: string): Promise<boolean> {
  const { uid, gid } = account
  return await new Promise((resolve) => {
    const options = { uid, gid, cwd: '/', env: CHILD_ENV }
    execFile('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], options, (error) => resolve(error === null))
  })
}
