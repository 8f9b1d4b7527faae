import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { waitFor } from './wait.js'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const BIN = join(ROOT, 'bin/vitrina.js')
const BUILT = join(ROOT, 'dist/bundle/cli.js')

/** A program as a separate process. Stopped with its test, or with its file. */
export interface SpawnedVitrina {
  readonly pid: number
  readonly stdout: string
  readonly stderr: string
  /** The exit code; 128 + n if signal n ended it. */
  readonly exited: Promise<number>
  kill(signal: NodeJS.Signals): void
  /** Searches stdout and stderr together; fails as soon as the program exits without having printed it. */
  waitForOutput(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray>
}

export interface SpawnOptions {
  readonly cwd?: string
  /** In its own process group, as a terminal starts a command; `process.kill(-pid, …)` reaches all of it. */
  readonly ownGroup?: boolean
  /** As another user, which only root can. */
  readonly user?: { readonly uid: number; readonly gid: number }
}

/** Every process of this file carries it, so that orphans are found too. */
export const MARK = { variable: 'VITRINA_TEST_WORKER', value: String(process.pid) }

const living = new Set<ChildProcess>()

/** The product itself, as built. */
export function spawnVitrina(
  args: readonly string[],
  env: Record<string, string> = {},
  options: SpawnOptions = {},
): SpawnedVitrina {
  requireBuilt()
  return spawnProgram([process.execPath, BIN, ...args], env, options)
}

export function requireBuilt(): void {
  if (!existsSync(BUILT)) throw new Error('dist/ does not exist: run "npm run build" first.')
}

/** Settings of the user who runs the tests must not affect them. */
export function bareEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env
  return { PATH, HOME, NO_COLOR: '1', [MARK.variable]: MARK.value }
}

/** `env` is added to a minimal environment. */
export function spawnProgram(
  [file = '', ...args]: readonly string[],
  env: Record<string, string>,
  { cwd = ROOT, ownGroup = false, user = undefined }: SpawnOptions = {},
): SpawnedVitrina {
  const child = spawn(file, args, {
    cwd,
    env: { ...bareEnvironment(), ...env },
    detached: ownGroup,
    ...user,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  living.add(child)
  try {
    onTestFinished(() => end(child))
  } catch {
    // Started in beforeAll: leaks.ts stops it after the file.
  }
  return watch(child, args)
}

export async function endSpawned(): Promise<void> {
  await Promise.all([...living].map(end))
}

function watch(child: ChildProcess, args: readonly string[]): SpawnedVitrina {
  const output = { stdout: '', stderr: '', all: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text
      output.all += text
    })
  }
  let code: number | null = null
  // 'close', not 'exit': only then has all its output arrived.
  const exited = new Promise<number>((resolve) => {
    child.once('close', (exitCode, signal) => {
      living.delete(child)
      code = exitCode ?? 128 + (signal === null ? 0 : constants.signals[signal])
      resolve(code)
    })
  })
  return {
    pid: child.pid ?? 0,
    get stdout() {
      return output.stdout
    },
    get stderr() {
      return output.stderr
    },
    exited,
    kill: (signal) => void child.kill(signal),
    waitForOutput: async (pattern, timeoutMs = 60_000) => {
      const what = `${args.join(' ')} to print ${pattern}`
      const heard = await waitFor(async () => pattern.exec(output.all) ?? (code !== null && 'ended'), {
        what,
        timeoutMs,
      }).catch((error) => {
        throw new Error(`${error.message}\nOutput:\n${output.all}`)
      })
      if (heard === 'ended')
        throw new Error(`waited for ${what}, but it ended with code ${code}. Output:\n${output.all}`)
      return heard as RegExpExecArray
    },
  }
}

/** First like Ctrl-C, because a killed parent cannot show that it stops its children. */
async function end(child: ChildProcess): Promise<void> {
  if (!living.has(child)) return
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  child.kill('SIGTERM')
  const force = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await closed
  clearTimeout(force)
}
