import { type ChildProcess, fork } from 'node:child_process'
import { constants } from 'node:os'
import type { Writable } from 'node:stream'
import { VitrinaError } from '../model/errors.js'
import { HANDED_OVER_ON, visibleEnvironment } from './hidden-environment.js'
import { BIN } from './paths.js'
import { howItEnded, type SupervisedProcess } from './supervisor.js'

/** The message of a child process to its parent when it is ready. */
interface Ready {
  /** Where to find it: the address of the API, the name of the runner. */
  readonly ready: string
}

/** Longer than a batch should take; a runner that has not exited by then leaves its run to recovery. */
const STOP_MS = 30_000

export function reportReady(where: string): void {
  process.send?.({ ready: where } satisfies Ready)
}

/** A part of Vitrina in its own process. It stops on request, and when this process is gone. */
export class Child implements SupervisedProcess {
  /** Where to find it; rejects if it exits first. */
  readonly ready: Promise<string>
  readonly exited: Promise<number>
  readonly #process: ChildProcess

  /**
   * `env` replaces the environment of this process: a part gets only the secrets that it needs. None of it is visible
   * from outside.
   */
  constructor(name: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.#process = fork(BIN, args, {
      env: visibleEnvironment(env),
      execArgv: [],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'],
    })
    // Through a pipe: every process of the same user can read the arguments and environment that a process is started
    // with.
    const environment = this.#process.stdio[HANDED_OVER_ON] as Writable
    environment.on('error', () => {}).end(JSON.stringify(env))
    this.exited = new Promise((resolve) => {
      this.#process.once('error', () => resolve(1))
      this.#process.once('exit', (code, signal) =>
        resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)),
      )
    })
    // A user who presses Ctrl-C twice does not want to wait for any process.
    const kill = () => this.#process.kill('SIGKILL')
    process.once('exit', kill)
    void this.exited.then(() => process.off('exit', kill))
    this.ready = Promise.race([
      new Promise<string>((resolve) =>
        this.#process.once('message', (message: Ready) => resolve(message.ready)),
      ),
      this.exited.then((code) => Promise.reject(didNotStart(name, code))),
    ])
    this.ready.catch(() => {})
  }

  get pid(): number | null {
    return this.#process.pid ?? null
  }

  async stop(): Promise<void> {
    if (this.#process.connected) this.#process.send('stop')
    const lastResort = setTimeout(() => this.#process.kill('SIGKILL'), STOP_MS)
    await this.exited
    clearTimeout(lastResort)
  }
}

function didNotStart(name: string, code: number): VitrinaError {
  return new VitrinaError(
    'PROCESS_FAILED',
    `The ${name} did not start: it ${howItEnded(code)}`,
    'The last lines of its output above show the reason.',
  )
}
