import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Account } from './account.js'
import { CHILD_ENV } from './child-env.js'

const GUARD = fileURLToPath(new URL('./guard.mjs', import.meta.url))

/** Longer than all steps of the guard together. */
const STOP_MS = 35_000

export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly account: Account | null
  /** Destination of its output. */
  readonly logFd: number
}

/** A command that ends when this process ends, for whatever reason. */
export interface GuardedProcess {
  /** The command's exit code, 128 + n if it was ended by signal n; null while it runs. */
  readonly exitCode: number | null
  readonly exited: Promise<number>
  /** Fast shutdown; resolves when guard and command have exited. Can be called again, and after the end. */
  stop(): Promise<void>
  /** Allows a program that does nothing else to exit; the guard then stops the command. */
  unref(): void
}

export function runGuarded({ file, args, cwd, account, logFd }: Command): GuardedProcess {
  const command = JSON.stringify({ file, args, cwd, uid: account?.uid, gid: account?.gid })
  // Detached: Ctrl-C in a terminal goes to the whole foreground group, and would stop the database while a
  // runner still has a batch to finish.
  const guard = spawn(process.execPath, [GUARD, command], {
    cwd: '/',
    env: CHILD_ENV,
    detached: true,
    stdio: ['pipe', logFd, logFd],
  })
  const lifeline = guard.stdin as Socket
  lifeline.on('error', () => {})
  let exitCode: number | null = null
  const exited = new Promise<number>((resolve) => {
    guard.once('error', () => resolve(127))
    guard.once('exit', (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    )
  }).then((code) => {
    exitCode = code
    return code
  })
  return {
    get exitCode() {
      return exitCode
    },
    exited,
    stop: async () => {
      guard.ref()
      lifeline.destroy()
      const lastResort = setTimeout(() => guard.kill('SIGKILL'), STOP_MS)
      await exited
      clearTimeout(lastResort)
    },
    unref: () => {
      guard.unref()
      lifeline.unref()
    },
  }
}
