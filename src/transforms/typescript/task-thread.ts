import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { Answer, Host, HostEvents, Question } from '../host.js'
import { hostEnvironment } from '../host-environment.js'
import type { News } from './news.js'

/** One worker thread: a slow function does not keep the runner from renewing its leases. */
export class TaskThread implements Host {
  readonly #worker: Worker
  readonly #port: MessagePort
  readonly #events: HostEvents
  #isOver = false
  #why: string | null = null

  constructor(options: { readonly memoryMb: number }, events: HostEvents) {
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    this.#events = events
    this.#worker = new Worker(new URL('./thread.mjs', import.meta.url), {
      workerData: { port: port2 },
      transferList: [port2],
      env: hostEnvironment(),
      argv: [],
      execArgv: [],
      stdin: false,
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: options.memoryMb },
    })
    this.#listen()
  }

  ask(question: Question, payload: Buffer | null = null): void {
    if (this.#isOver) return
    if (payload === null) this.#port.postMessage({ question })
    else {
      // A copy that can be given away: the batch may be asked for again.
      const copy = new Uint8Array(payload)
      this.#port.postMessage({ question, payload: copy }, [copy.buffer])
    }
  }

  close(): Promise<void> {
    return this.kill()
  }

  async kill(): Promise<void> {
    this.#isOver = true
    await this.#worker.terminate()
    this.#port.close()
  }

  #listen(): void {
    this.#port.on('message', ({ answer, payload }: { answer: Answer | News; payload?: Uint8Array }) => {
      if (!this.#isOver) this.#hear(answer, payload)
    })
    // Written past our own write(): by the runtime itself, for instance its warnings.
    for (const stream of [this.#worker.stdout, this.#worker.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        for (const line of text.split('\n')) if (line.trim() !== '') this.#events.said(null, line)
      })
    this.#worker.on('error', (error: Error & { code?: string }) => {
      this.#why =
        error.code === 'ERR_WORKER_OUT_OF_MEMORY'
          ? 'took more memory than VITRINA_TASK_MEMORY_MB allows'
          : `was stopped by an error outside of any call (${error.name}: ${error.message})`
    })
    this.#worker.once('exit', (code) => this.#ended(this.#why ?? `exited with code ${code}`))
  }

  #hear(answer: Answer | News, payload: Uint8Array | undefined): void {
    if (answer.op === 'said') this.#events.said(answer.transform, answer.text)
    else if (answer.op === 'unsaid') this.#events.unsaid(answer.lines)
    else if (answer.op === 'working') this.#events.working(answer.transform)
    else this.#events.answer(answer, payload === undefined ? Buffer.alloc(0) : Buffer.from(payload.buffer))
  }

  /** What it posted before its end is still on the way. */
  #ended(how: string): void {
    setImmediate(() => {
      if (this.#isOver) return
      this.#isOver = true
      this.#port.close()
      this.#events.gone(how, false)
    })
  }
}
