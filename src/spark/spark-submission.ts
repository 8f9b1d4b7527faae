import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import type { Submission, SubmissionEnd } from '../ports/part-engine.js'

/** How long the driver may take to leave the cluster before it is killed. */
const TIMEOUT_MS = 10_000
const LOOK_EVERY_MS = 50
const KEPT_LINES = 15
const LONGEST_LINE = 500
/** How the driver reports what is wrong: a line with JSON. */
const PROBLEM = 'vitrina-problem '

export interface SparkCommand {
  readonly profile: string
  readonly command: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Must not be shown. */
  readonly secrets: readonly string[]
}

/** A driver of Spark: spark-submit, its Java process and its Python process, as one process group. */
export class SparkSubmission implements Submission {
  readonly profile: string
  readonly #child: ChildProcess
  readonly #secrets: readonly string[]
  readonly #lines: string[] = []
  readonly #closed: Promise<void>
  #problem: { readonly message: string; readonly hint: string } | null = null
  #end: SubmissionEnd | null = null

  constructor({ profile, command, env, secrets }: SparkCommand) {
    this.profile = profile
    this.#secrets = secrets
    const [program, ...args] = command
    this.#child = spawn(program!, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      createInterface({ input: stream }).on('line', (line) => this.#take(line))
    this.#closed = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(this.#over(`could not be started: ${error.message}`)))
      this.#child.once('close', (code, signal) => resolve(this.#over(ending(code, signal))))
    })
  }

  get end(): SubmissionEnd | null {
    return this.#end
  }

  async stop(): Promise<void> {
    if (this.#child.pid === undefined) return this.#closed
    this.#signal('SIGTERM')
    const timeout = wait(TIMEOUT_MS, 'late', { ref: false })
    if ((await Promise.race([this.#whenGone(), timeout])) === 'late') this.#signal('SIGKILL')
    await this.#closed
  }

  /** The Java process may end before its children. */
  async #whenGone(): Promise<void> {
    await this.#closed
    while (this.#signal(0)) await wait(LOOK_EVERY_MS)
  }

  /** To the whole group. False: no process of it is left. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    try {
      return process.kill(-this.#child.pid!, signal)
    } catch {
      return false
    }
  }

  #over(how: string): void {
    const { message, hint } = this.#problem ?? { message: this.#lines.join('\n'), hint: null }
    this.#end ??= { how, report: message, hint }
  }

  #take(line: string): void {
    const shown = this.#withoutSecrets(line)
    if (shown.startsWith(PROBLEM)) this.#problem = parseProblem(shown.slice(PROBLEM.length)) ?? this.#problem
    else if (shown.trim() !== '') this.#lines.push(shown.slice(0, LONGEST_LINE))
    if (this.#lines.length > KEPT_LINES) this.#lines.shift()
  }

  #withoutSecrets(line: string): string {
    return this.#secrets.reduce((text, secret) => text.replaceAll(secret, '***'), line)
  }
}

function ending(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `ended with code ${code}` : `was ended by ${signal}`
}

function parseProblem(text: string): { message: string; hint: string } | null {
  try {
    const { message, hint } = JSON.parse(text) as { message?: unknown; hint?: unknown }
    return typeof message === 'string' && typeof hint === 'string' ? { message, hint } : null
  } catch {
    return null
  }
}
