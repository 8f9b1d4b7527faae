import { execFile } from 'node:child_process'
import { readFile, readlink, realpath, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { embeddedFailed } from './embedded-failure.js'
import { absentAsNull } from './files.js'
import { identityOf, waitUntilGone } from './process-identity.js'

/** The first eight lines of postmaster.pid: pid, folder, start, port, socket folder, address, memory key, status. */
export interface Postmaster {
  readonly pid: number
  readonly port: number
  readonly ready: boolean
}

/** No kernel assigns this number, so no process has it. */
const NOBODY_PID = 2_147_483_646

const STEP_MS = 10_000

export async function readPostmaster(dataDir: string): Promise<Postmaster | null> {
  const lines = (await absentAsNull(readFile(pidFile(dataDir), 'utf8')))?.split('\n') ?? []
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 0) return null
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' }
}

function pidFile(dataDir: string): string {
  return join(dataDir, 'postmaster.pid')
}

/**
 * Whether this process is the server of exactly this folder. A postmaster's working directory is its data folder, and
 * it keeps its command line; its children rename themselves ("postgres: checkpointer").
 */
export async function isPostmasterOf(pid: number, dataDir: string): Promise<boolean> {
  try {
    if (process.platform !== 'linux') return (await commandLine(pid)).includes(`-D ${dataDir} `)
    const [command] = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')
    return (
      basename(command ?? '') === 'postgres' &&
      (await readlink(`/proc/${pid}/cwd`)) === (await realpath(dataDir))
    )
  } catch {
    // Gone, or of another user: ours is neither.
    return false
  }
}

async function commandLine(pid: number): Promise<string> {
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)])
  return stdout
}

/** Returns true if a server was running. Its owner must be known to be dead. */
export async function stopPostmaster(dataDir: string): Promise<boolean> {
  const found = await readPostmaster(dataDir)
  const identity = found === null ? null : identityOf(found.pid)
  // PostgreSQL handles a dead one itself: it also checks that no backend still uses the shared memory.
  if (found === null || identity === null) return false
  if (!(await isPostmasterOf(found.pid, dataDir))) {
    await disownPid(dataDir)
    return false
  }
  await endProcess(found.pid, identity)
  return true
}

/**
 * The pid in the file now belongs to another process, and PostgreSQL would refuse to start because of it.
 * Not deleted: the rest of the file leads PostgreSQL to the shared memory of the old server.
 * A server that is about to exit no longer has a command line and is not recognized. It removes its file itself, at any
 * moment; `r+` does not create the file again.
 */
async function disownPid(dataDir: string): Promise<void> {
  const text = await absentAsNull(readFile(pidFile(dataDir), 'utf8'))
  if (text === null) return
  const disowned = text.replace(/^\d+/, String(NOBODY_PID))
  await absentAsNull(writeFile(pidFile(dataDir), disowned, { flag: 'r+' }))
}

async function endProcess(pid: number, identity: string): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    if (identityOf(pid) === identity) process.kill(pid, signal)
    if (await waitUntilGone(pid, identity, STEP_MS)) return
  }
  throw embeddedFailed(`the PostgreSQL of an earlier start (process ${pid}) does not stop`)
}
