import type { JobSegment } from '../model/engine.js'
import type { OutputListener } from '../ports/transforms.js'
import { RowBatch } from '../sql/row-batch.js'
import type { Column } from '../sql/selection.js'
import { CapturedOutput } from './captured-output.js'
import { forHost } from './columns.js'
import {
  died,
  type Limits,
  notLoaded,
  notStarted,
  raised,
  resultRefused,
  tookTooLong,
  tookTooMuch,
} from './failures.js'
import type { Gone, Host, HostAnswer, HostColumn, HostProblem, Language } from './host.js'

/** How long loading one file may take. */
export const LOAD_MS = 20_000

export interface SegmentPlan {
  readonly language: Language
  readonly files: readonly string[]
  readonly columns: readonly Column[]
  /** Consecutive functions of one language, with the columns after each of them. */
  readonly steps: readonly { readonly name: string; readonly columns: readonly Column[] }[]
}

interface WaitingBatch {
  readonly batch: RowBatch
  readonly resolve: (batch: RowBatch) => void
  readonly reject: (error: unknown) => void
}

/**
 * Functions of one language in one host. Batches are sent as they come and answered in order; the host works on one
 * while the next is queued in its socket.
 *
 *   no host ──run──► loading ──ready──► working ──answer──► working
 *      ▲                │ failed           │ died, killed: the batch in work fails, the others go to a new host
 *      ▲                │ failed           │ died, killed: the current batch fails, the others go to a new host
 */
export class Segment {
  readonly #plan: SegmentPlan
  readonly #limits: Limits
  readonly #output: CapturedOutput
  readonly #waiting: WaitingBatch[] = []
  #host: Host | null = null
  #isReady = false
  #working: string
  #timer: NodeJS.Timeout | undefined
  /** Why no more batches are accepted. */
  #over: { readonly reason: unknown } | null = null
  /** The previous host, until it has ended. */
  #ending: Promise<void> = Promise.resolve()
  #starting: Promise<void> = Promise.resolve()

  constructor(plan: SegmentPlan, limits: Limits, onOutput: OutputListener) {
    this.#plan = plan
    this.#limits = limits
    this.#working = plan.steps[0]!.name
    this.#output = new CapturedOutput(onOutput, this.#working)
  }

  get columns(): readonly Column[] {
    return this.#plan.steps.at(-1)!.columns
  }

  get job(): JobSegment {
    const { language, files } = this.#plan
    return { language: language.name, folder: language.folder, files, ...this.#forHost() }
  }

  /** Loads the files, so that their errors are reported before the first row is read. */
  open(): Promise<RowBatch> {
    return this.run(RowBatch.NONE)
  }

  run(batch: RowBatch): Promise<RowBatch> {
    if (this.#over !== null) return Promise.reject(this.#over.reason)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch, resolve, reject })
      if (this.#isReady) this.#send(batch)
      else if (this.#host === null && this.#waiting.length === 1) this.#starting = this.#start()
      this.#watch()
    })
  }

  /** Ends the host and rejects everything that is queued. */
  async end(reason: unknown, how: 'close' | 'kill'): Promise<void> {
    this.#over ??= { reason }
    const host = this.#host
    this.#forget()
    for (const { reject } of this.#waiting.splice(0)) reject(reason)
    await this.#ending
    await this.#starting
    await host?.[how]()
  }

  async #start(): Promise<void> {
    const { language, files } = this.#plan
    try {
      await this.#ending
      const host = await language.start({
        answer: (answer, payload) => this.#answered(answer, payload),
        output: (transform, text) => this.#output.take(transform, text),
        dropped: (lines) => this.#output.skip(lines),
        working: (transform) => {
          this.#working = transform
        },
        gone: (gone) => this.#gone(gone),
      })
      if (this.#over !== null) return await host.kill()
      this.#host = host
      host.ask({ op: 'load', folder: language.folder, files, describe: false })
      this.#watch()
    } catch (error) {
      this.#fail(error)
    }
  }

  #answered(answer: HostAnswer, payload: Buffer): void {
    if (answer.op === 'loading') this.#restartTimer()
    else if (answer.op === 'loaded') this.#loaded(answer.file, answer.problem)
    else if (answer.op === 'ready') this.#ready()
    else this.#batchAnswered(answer, payload)
  }

  #loaded(file: string, problem: HostProblem | null): void {
    if (problem === null) return
    this.#output.trace(this.#working, problem.trace)
    this.#kill(notLoaded(file, problem))
  }

  #ready(): void {
    this.#isReady = true
    this.#host?.ask({ op: 'open', ...this.#forHost() })
    for (const { batch } of this.#waiting) this.#send(batch)
    this.#restartTimer()
  }

  #forHost(): { columns: HostColumn[]; steps: { name: string; columns: HostColumn[] }[] } {
    const { columns, steps } = this.#plan
    return {
      columns: forHost(columns),
      steps: steps.map((step) => ({ name: step.name, columns: forHost(step.columns) })),
    }
  }

  #send(batch: RowBatch): void {
    this.#working = this.#plan.steps[0]!.name
    this.#host?.ask({ op: 'batch', rows: batch.count }, batch.bytes)
  }

  #batchAnswered(answer: Extract<HostAnswer, { op: 'rows' | 'failed' | 'refused' }>, payload: Buffer): void {
    if (answer.op === 'failed') this.#output.trace(answer.transform, answer.trace)
    this.#output.batchEnded()
    if (answer.op === 'failed' && answer.kind !== 'raised') this.#kill(this.#errorOf(answer))
    else {
      const done = this.#waiting.shift()
      if (answer.op === 'rows') done?.resolve(RowBatch.ofLines(payload, answer.rows))
      else done?.reject(this.#errorOf(answer))
      this.#restartTimer()
    }
  }

  #errorOf(answer: Extract<HostAnswer, { op: 'failed' | 'refused' }>): Error {
    if (answer.op === 'refused') return resultRefused(answer)
    const step = this.#plan.steps.findIndex(({ name }) => name === answer.transform)
    const columns = step > 0 ? this.#plan.steps[step - 1]!.columns : this.#plan.columns
    return raised(
      answer,
      columns.map(({ name }) => name),
      this.#limits,
    )
  }

  #gone(gone: Gone): void {
    const error = this.#errorOfEnd(gone)
    this.#forget()
    this.#output.batchEnded()
    this.#fail(error)
  }

  #errorOfEnd({ how, why }: Gone): Error {
    if (why === 'missing') return notStarted(this.#plan.language.name, how)
    if (!this.#isReady) return notLoaded(this.#plan.files.join(', '), { line: `its host ${how}` })
    return why === 'memory' ? tookTooMuch(this.#working, this.#limits) : died(this.#working, how)
  }

  #kill(error: unknown): void {
    const host = this.#host
    this.#forget()
    if (host !== null) this.#ending = host.kill()
    // The next batch must not be read while the old host may still use memory.
    void this.#ending.then(() => this.#fail(error))
  }

  #forget(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#host = null
    this.#isReady = false
  }

  /** The current batch has failed; the others get a new host. */
  #fail(error: unknown): void {
    this.#waiting.shift()?.reject(error)
    if (this.#waiting.length > 0 && this.#host === null) this.#starting = this.#start()
  }

  #restartTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#watch()
  }

  /** The timeout of a batch starts when the host has nothing else to do before it. */
  #watch(): void {
    if (this.#timer !== undefined || this.#host === null || this.#waiting.length === 0) return
    const timeoutMs = this.#isReady ? this.#limits.timeoutMs : LOAD_MS
    this.#timer = setTimeout(() => {
      this.#kill(
        this.#isReady
          ? tookTooLong(this.#working, this.#limits)
          : notLoaded(this.#plan.files.join(', '), { line: `not within ${LOAD_MS / 1000} s` }),
      )
    }, timeoutMs)
  }
}
