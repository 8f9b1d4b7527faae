import { pathToFileURL } from 'node:url'
import type { MessagePort } from 'node:worker_threads'
import type { HostAnswer, HostColumn, HostRequest, LoadedTask } from '../host.js'
import type { HostEvent } from '../host-event.js'
import { BatchCodec } from './batch-codec.js'
import { describeTask, stackPlace } from './describe-task.js'
import { InvalidResult, shown } from './invalid-result.js'
import { listenToPrints } from './prints.js'
import { checkedRows } from './result.js'
import { type Row, registered, type TaskFunction } from './task.js'

const LONGEST_TRACE = 12_000

/** Answers requests one after another, regardless of what the functions do meanwhile. */
export function serve(port: MessagePort): void {
  const post = port.postMessage.bind(port)
  const send = (answer: HostAnswer | HostEvent, payload?: Uint8Array) =>
    post({ answer, payload }, payload === undefined ? [] : [payload.buffer as ArrayBuffer])
  const worker = new TaskWorker(send)
  let turn = Promise.resolve()
  port.on('message', ({ question, payload }: { question: HostRequest; payload: Uint8Array }) => {
    turn = turn.then(() => worker.answer(question, payload))
  })
  // Ready for requests.
  post(null)
}

class TaskWorker {
  readonly #send: (answer: HostAnswer | HostEvent, payload?: Uint8Array) => void
  readonly #functions = new Map<string, TaskFunction>()
  readonly #prints: ReturnType<typeof listenToPrints>
  #folder = ''
  #codec: BatchCodec | null = null
  #steps: readonly { readonly name: string; readonly columns: readonly HostColumn[] }[] = []

  constructor(send: (answer: HostAnswer | HostEvent, payload?: Uint8Array) => void) {
    this.#send = send
    this.#prints = listenToPrints(send)
  }

  async answer(question: HostRequest, payload: Uint8Array = new Uint8Array()): Promise<void> {
    if (question.op === 'load') return this.#load(question.folder, question.files)
    if (question.op === 'batch') return this.#transform(payload)
    this.#steps = question.steps
    this.#codec = new BatchCodec(question.columns, question.steps.at(-1)!.columns)
  }

  async #load(folder: string, files: readonly string[]): Promise<void> {
    this.#folder = folder
    for (const file of files) {
      this.#send({ op: 'loading', file })
      this.#send(await this.#loaded(file))
    }
    this.#prints.batchEnded()
    this.#send({ op: 'ready' })
  }

  async #loaded(file: string): Promise<HostAnswer> {
    registered().length = 0
    let problem: Extract<HostAnswer, { op: 'loaded' }>['problem'] = null
    try {
      await import(pathToFileURL(`${this.#folder}/${file}`).href)
    } catch (error) {
      problem = { kind: 'raised', line: lineOf(error), trace: traceOf(error) }
    }
    const tasks: LoadedTask[] = []
    for (const task of registered()) {
      this.#functions.set(task.name, task.run)
      tasks.push(await describeTask(task, this.#folder, file))
    }
    return { op: 'loaded', file, tasks, problem }
  }

  async #transform(payload: Uint8Array): Promise<void> {
    let name = this.#steps[0]!.name
    let rows: Row[] = []
    let answer: HostAnswer
    let bytes: Uint8Array | undefined
    try {
      const before = this.#codec!.decode(payload)
      rows = before.rows
      for (const step of this.#steps) {
        if (rows.length === 0) break
        name = step.name
        this.#prints.working(name)
        rows = await checkedRows(this.#functions.get(name)!(rows), step.columns)
      }
      bytes = new TextEncoder().encode(this.#codec!.encode(rows, before))
      answer = { op: 'rows', rows: rows.length }
    } catch (error) {
      answer =
        error instanceof InvalidResult ? invalidResultOf(error, name) : this.#failureOf(error, name, rows)
    }
    this.#prints.batchEnded()
    this.#send(answer, bytes)
  }

  #failureOf(error: unknown, transform: string, rows: readonly Row[]): HostAnswer {
    const trace = traceOf(error)
    const sample = rows.length === 0 ? null : shown(rows[0], 1_000)
    const place = stackPlace(trace, this.#folder)
    const where = place === null ? null : `${place.file}:${place.line}`
    return {
      op: 'failed',
      kind: 'raised',
      transform,
      line: lineOf(error),
      trace,
      where,
      row: null,
      sample,
      key: null,
    }
  }
}

function invalidResultOf({ message, row, sample, hint }: InvalidResult, transform: string): HostAnswer {
  return {
    op: 'refused',
    transform,
    what: message,
    row,
    sample: sample === null ? null : shown(sample, 1_000),
    hint,
  }
}

function lineOf(error: unknown): string {
  const line = error instanceof Error ? `${error.name}: ${error.message}` : `threw ${shown(error)}`
  return line.slice(0, 500)
}

function traceOf(error: unknown): string {
  const stack = error instanceof Error ? String(error.stack ?? error) : lineOf(error)
  const lines = stack.split('\n').filter((line) => !line.includes('/transforms/typescript/'))
  return lines.join('\n').slice(0, LONGEST_TRACE)
}
