import { type ChildProcess, fork } from 'node:child_process'
import { VitrinaError } from '../model/errors.js'
import { BIN } from './paths.js'

/** What a part says to its parent when it works. */
interface Ready {
  /** Where it can be found: the address of the API, the name of the runner. */
  readonly ready: string
}

/** Longer than a batch is meant to take; a runner that has not come back by then gives its run to recovery. */
const STOP_MS = 30_000

export function tellReady(where: string): void {
  process.send?.({ ready: where } satisfies Ready)
}

/** A part of Vitrina in a process of its own. It stops when we say so, and when we are gone. */
export class Child {
  readonly name: string
  /** Where it can be found; rejects when it ends first. */
  readonly ready: Promise<string>
  /** Rejects when it ends although nobody asked it to. */
  readonly failed: Promise<never>
  readonly #process: ChildProcess
  readonly #exited: Promise<number>
  #stopping = false

  /** `env` replaces ours: a part gets only the secrets that it needs. */
  constructor(name: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.name = name
    this.#process = fork(BIN, args, { env, execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#exited = new Promise((resolve) => {
      this.#process.once('error', () => resolve(1))
      this.#process.once('exit', (code, signal) => resolve(code ?? (signal === null ? 1 : 128)))
    })
    this.failed = this.#exited.then((code) =>
      this.#stopping ? new Promise<never>(() => {}) : Promise.reject(this.#ended(code)),
    )
    // Somebody who presses Ctrl-C twice does not want to wait for anybody.
    const kill = () => this.#process.kill('SIGKILL')
    process.once('exit', kill)
    void this.#exited.then(() => process.off('exit', kill))
    // Whoever waits for it hears of it; that nobody does yet is no reason to end the process.
    this.failed.catch(() => {})
    this.ready = Promise.race([
      new Promise<string>((resolve) =>
        this.#process.once('message', (message: Ready) => resolve(message.ready)),
      ),
      this.failed,
    ])
    this.ready.catch(() => {})
  }

  async stop(): Promise<void> {
    this.#stopping = true
    if (this.#process.connected) this.#process.send('stop')
    const lastResort = setTimeout(() => this.#process.kill('SIGKILL'), STOP_MS)
    await this.#exited
    clearTimeout(lastResort)
  }

  #ended(code: number): VitrinaError {
    return new VitrinaError(
      'INTERNAL',
      `The ${this.name} ended by itself with code ${code}.`,
      'Its last lines above say why; everything else was stopped too.',
    )
  }
}
