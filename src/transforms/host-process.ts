import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { Duplex, Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Confinement } from './confinement.js'
import { FrameReader, frameOf } from './frames.js'
import type { Gone, Host, HostAnswer, HostEvents, HostRequest } from './host.js'
import { hostEnvironment } from './host-environment.js'
import type { HostEvent } from './host-event.js'
import { HOST_MARKER, killLeftoverProcesses } from './leftover-processes.js'
import { OUT_OF_MEMORY, OVER_MEMORY } from './memory-end.js'
import { OutputLines } from './output-lines.js'

/** How long a host may take to exit on its own. */
const GRACE_MS = 1_000
/** Marks are written before the answer; a wait is needed only if user code closed the streams. */
const DRAIN_MS = 200
const BROKEN = 'sent an invalid answer'

export interface HostProgram {
  /** The program and its leading arguments. */
  readonly command: readonly string[]
  readonly confinement: Confinement
  readonly cwd: string
  readonly memoryMb: number
  /** It writes marks between printed lines. Otherwise it reports them as events. */
  readonly marksOutput: boolean
}

/**
 * One process with functions: requests and answers over their own sockets, printed lines over stdout and stderr. Two
 * sockets, because writing to a process that has just ended closes the socket together with unread answers.
 */
export class HostProcess implements Host {
  readonly #child: ChildProcess
  readonly #questions: Duplex
  readonly #replies: Duplex
  readonly #events: HostEvents
  readonly #nonce = randomBytes(12).toString('hex')
  readonly #outputs: OutputStream[]
  readonly #marksOutput: boolean
  readonly #exited: Promise<Gone>
  /** Answers are queued until everything printed before them has been reported. */
  #delivery: Promise<void> = Promise.resolve()
  #answers = 0
  #isOver = false

  constructor({ command, confinement, cwd, memoryMb, marksOutput }: HostProgram, events: HostEvents) {
    const options = JSON.stringify({ parent: process.pid, nonce: this.#nonce, memory_mb: memoryMb })
    const [file = '', ...args] = [...confinement.prefix, ...command]
    this.#events = events
    this.#marksOutput = marksOutput
    this.#child = spawn(file, [...args, options], {
      cwd,
      env: { ...hostEnvironment(), [HOST_MARKER]: this.#nonce },
      // Its own process group: killed as a whole, and not reached by Ctrl-C in a terminal.
      detached: true,
      ...confinement.user,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
    })
    const [, , , questions, replies] = this.#child.stdio
    this.#questions = questions as Duplex
    this.#replies = replies as Duplex
    this.#outputs = [this.#child.stdout!, this.#child.stderr!].map(
      (stream) => new OutputStream(stream, this.#nonce, events),
    )
    this.#exited = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => resolve(endOf(code, signal)))
      this.#child.once('error', (error) =>
        resolve({ how: `could not be started: ${error.message}`, why: 'missing' }),
      )
    })
    this.#listen()
  }

  ask(question: HostRequest, payload: Buffer | null = null): void {
    if (!this.#isOver) for (const piece of frameOf(question, payload)) this.#questions.write(piece)
  }

  async close(): Promise<void> {
    this.#isOver = true
    this.#questions.end()
    await Promise.race([this.#exited, delay(GRACE_MS, undefined, { ref: false })])
    await this.#killAll()
  }

  async kill(): Promise<void> {
    this.#isOver = true
    await this.#killAll()
  }

  #listen(): void {
    const reader = new FrameReader()
    // Writing to a process that has just ended: its end is reported by 'exit'.
    this.#questions.on('error', () => {})
    this.#replies.on('error', () => {})
    this.#replies.on('data', (chunk: Buffer) => this.#take(reader, chunk))
    // A process that closed its end can no longer answer, even if it keeps running.
    const closed = new Promise((resolve) => this.#replies.once('close', resolve))
    void closed.then(() => this.#ended(null))
    // The last answers may still arrive; the wait is bounded, because a leftover process may keep the stream open.
    void this.#exited
      .then(() => Promise.race([closed, delay(GRACE_MS, undefined, { ref: false })]))
      .then(() => this.#ended(null))
  }

  #take(reader: FrameReader, chunk: Buffer): void {
    if (this.#isOver) return
    try {
      for (const { header, payload } of reader.take(chunk))
        this.#deliver(header as HostAnswer | HostEvent, payload)
    } catch {
      void this.#ended({ how: BROKEN, why: 'ended' })
    }
  }

  #deliver(answer: HostAnswer | HostEvent, payload: Buffer): void {
    if (answer.op !== 'loading' && answer.op !== 'loaded') this.#answers += 1
    const wanted = this.#marksOutput ? this.#answers : 0
    this.#delivery = this.#delivery
      .then(() => Promise.all(this.#outputs.map((output) => output.reached(wanted))))
      .then(() => {
        if (!this.#isOver) this.#pass(answer, payload)
      })
      // Something that looks like an answer but is not one must not end the runner.
      .catch(() => this.#ended({ how: BROKEN, why: 'ended' }))
  }

  #pass(answer: HostAnswer | HostEvent, payload: Buffer): void {
    if (answer.op === 'output') this.#events.output(answer.transform, answer.text)
    else if (answer.op === 'dropped') this.#events.dropped(answer.lines)
    else if (answer.op === 'working') this.#events.working(answer.transform)
    else if (answer.op === 'gone') void this.#ended(answer.gone)
    else this.#events.answer(answer, payload)
  }

  /** Reported after the answers, because the last one may have caused a kill; `gone`: it is being ended for this reason. */
  async #ended(gone: Gone | null): Promise<void> {
    if (gone === null) await this.#delivery
    if (this.#isOver) return
    this.#isOver = true
    const closed: Gone = { how: 'closed its connection to the runner', why: 'ended' }
    const how = gone ?? (await Promise.race([this.#exited, delay(GRACE_MS, closed, { ref: false })]))
    await this.#killAll()
    this.#events.gone(how)
  }

  async #killAll(): Promise<void> {
    if (this.#child.pid !== undefined) await killLeftoverProcesses(this.#child.pid, this.#nonce)
    await this.#exited
    await Promise.all(this.#outputs.map((output) => output.finish()))
    this.#questions.destroy()
    this.#replies.destroy()
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
  /** A wait has already timed out once. */
  #isMute = false
  #heard = () => {}

  constructor(stream: Readable, nonce: string, events: HostEvents) {
    this.#stream = stream
    this.#events = events
    this.#lines = new OutputLines(nonce, {
      line: (text) => events.output(this.#transform, text),
      mark: (mark) => this.#marked(mark),
    })
    stream.on('data', (chunk: Buffer) => this.#lines.take(chunk)).on('error', () => {})
    this.#closed = new Promise((resolve) => stream.once('close', resolve))
  }

  /** Waits for the end of the n-th answer's output; bounded, because user code may have closed the stream. */
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

function endOf(code: number | null, signal: NodeJS.Signals | null): Gone {
  if (signal === OVER_MEMORY) return OUT_OF_MEMORY
  return {
    how: signal === null ? `exited with code ${code}` : `was ended by signal ${signal}`,
    why: 'ended',
  }
}
