import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { Duplex, Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Answer, Host, HostEvents, Question } from '../host.js'
import { hostEnvironment } from '../host-environment.js'
import { FrameReader, frameOf } from './frames.js'
import { OutputLines } from './output.js'
import { killStrays, MARKER } from './strays.js'

/** The same three folders up from src/ and from dist/. */
const PROGRAM = fileURLToPath(new URL('../../../python/vitrina_host.py', import.meta.url))
/** How long a host may take to end by itself. */
const GRACE_MS = 1_000
/** Marks are written before the answer; only code that closed the streams lets us wait. */
const DRAIN_MS = 200
const BROKEN = 'sent something that is no answer'

export interface PythonOptions {
  readonly executable: string
  readonly folder: string
  readonly memoryMb: number
}

/** One Python process: questions and answers over a socket of its own, prints over stdout and stderr. */
export class PythonProcess implements Host {
  readonly #child: ChildProcess
  readonly #socket: Duplex
  readonly #events: HostEvents
  readonly #nonce = randomBytes(12).toString('hex')
  readonly #outputs: OutputStream[]
  readonly #exited: Promise<string>
  /** Answers wait here until everything that was printed before them has been told. */
  #delivery: Promise<void> = Promise.resolve()
  #answers = 0
  #isOver = false

  constructor({ executable, folder, memoryMb }: PythonOptions, events: HostEvents) {
    const options = JSON.stringify({ parent: process.pid, nonce: this.#nonce, memory_mb: memoryMb })
    this.#events = events
    this.#child = spawn(executable, ['-I', '-X', 'utf8', PROGRAM, options], {
      cwd: folder,
      env: { ...hostEnvironment(), [MARKER]: this.#nonce },
      // A group of its own: killed as a whole, and no Ctrl-C of a terminal reaches it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    })
    this.#socket = this.#child.stdio[3] as Duplex
    this.#outputs = [this.#child.stdout!, this.#child.stderr!].map(
      (stream) => new OutputStream(stream, this.#nonce, events),
    )
    this.#exited = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => resolve(howItEnded(code, signal)))
      this.#child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    })
    this.#listen()
  }

  ask(question: Question, payload: Buffer | null = null): void {
    if (!this.#isOver) for (const piece of frameOf(question, payload)) this.#socket.write(piece)
  }

  async close(): Promise<void> {
    this.#isOver = true
    this.#socket.end()
    await Promise.race([this.#exited, delay(GRACE_MS, undefined, { ref: false })])
    await this.#killAll()
  }

  async kill(): Promise<void> {
    this.#isOver = true
    await this.#killAll()
  }

  #listen(): void {
    const reader = new FrameReader()
    // Writing to one that has just ended: its end is told by 'exit'.
    this.#socket.on('error', () => {})
    this.#socket.on('data', (chunk: Buffer) => this.#take(reader, chunk))
    // One that closed our socket can answer no more, also if it lives on.
    this.#socket.once('close', () => void this.#ended(null))
    void this.#exited.then(() => this.#ended(null))
  }

  #take(reader: FrameReader, chunk: Buffer): void {
    if (this.#isOver) return
    try {
      for (const { header, payload } of reader.take(chunk)) this.#deliver(header as Answer, payload)
    } catch {
      void this.#ended(BROKEN)
    }
  }

  #deliver(answer: Answer, payload: Buffer): void {
    if (answer.op !== 'loading' && answer.op !== 'loaded') this.#answers += 1
    const wanted = this.#answers
    this.#delivery = this.#delivery
      .then(() => Promise.all(this.#outputs.map((output) => output.reached(wanted))))
      .then(() => {
        if (!this.#isOver) this.#events.answer(answer, payload)
      })
      // What looks like an answer and is none must not end the runner.
      .catch(() => this.#ended(BROKEN))
  }

  /** Told after the answers, as the last of them may have led to a kill; `why`: it is ended because of this. */
  async #ended(why: string | null): Promise<void> {
    if (why === null) await this.#delivery
    if (this.#isOver) return
    this.#isOver = true
    const how =
      why ??
      (await Promise.race([
        this.#exited,
        delay(GRACE_MS, 'closed its connection to the runner', { ref: false }),
      ]))
    await this.#killAll()
    this.#events.gone(how, how.startsWith('could not be started'))
  }

  async #killAll(): Promise<void> {
    if (this.#child.pid !== undefined) await killStrays(this.#child.pid, this.#nonce)
    await this.#exited
    await Promise.all(this.#outputs.map((output) => output.finish()))
    this.#socket.destroy()
  }
}

/** Lines of stdout or stderr with the function that printed them. */
class OutputStream {
  readonly #stream: Readable
  readonly #events: HostEvents
  readonly #lines: OutputLines
  readonly #closed: Promise<void>
  #transform: string | null = null
  #ends = 0
  /** Waited for once in vain. */
  #isMute = false
  #heard = () => {}

  constructor(stream: Readable, nonce: string, events: HostEvents) {
    this.#stream = stream
    this.#events = events
    this.#lines = new OutputLines(nonce, {
      line: (text) => events.said(this.#transform, text),
      mark: (mark) => this.#marked(mark),
    })
    stream.on('data', (chunk: Buffer) => this.#lines.take(chunk)).on('error', () => {})
    this.#closed = new Promise((resolve) => stream.once('close', resolve))
  }

  /** Until the end of the n-th answer's output; not for ever, as user code may have put an end to the stream. */
  async reached(answers: number): Promise<void> {
    const isThere = () => this.#ends >= answers || this.#stream.destroyed
    if (isThere() || this.#isMute) return
    const heard = new Promise<void>((resolve) => {
      this.#heard = () => isThere() && resolve()
    })
    await Promise.race([heard, this.#closed, delay(DRAIN_MS, undefined, { ref: false })])
    this.#isMute = !isThere()
  }

  async finish(): Promise<void> {
    await Promise.race([this.#closed, delay(DRAIN_MS, undefined, { ref: false })])
    this.#lines.end()
    this.#stream.destroy()
  }

  #marked(mark: string): void {
    if (mark === 'end') this.#ends += 1
    else {
      this.#transform = mark.slice('step '.length)
      this.#events.working(this.#transform)
    }
    this.#heard()
  }
}

function howItEnded(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `exited with code ${code}` : `was ended by the signal ${signal}`
}
