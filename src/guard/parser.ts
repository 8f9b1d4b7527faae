import { Worker } from 'node:worker_threads'

/** A node of the parser's tree, as protobuf JSON: a missing field has its default. */
export type Tree = { readonly [field: string]: unknown }

export type ParsedText =
  | { readonly kind: 'tree'; readonly statements: readonly Tree[] }
  | { readonly kind: 'syntax'; readonly message: string; readonly character: number }
  /** Deeper or larger than any handwritten query, and deeper than the parser's stack may support. */
  | { readonly kind: 'deep' }

type ParserMessage =
  | ParsedText
  | { readonly kind: 'ready' }
  | { readonly kind: 'broken'; readonly reason: string }

/** JSON levels: a chain of 900 operators, 1,900 UNIONs or 200 nested selects pass. From about 2,600 on, a tree
 *  cannot be transferred between threads. */
const MAX_DEPTH = 2_000
/**
 * Objects of a tree. A mart with 2,000 columns has 50,000. The event loop copies and walks the tree: the 640,000 of 256 kB
 * of constants took it half a second.
 */
const MAX_NODES = 400_000
/** 256 kB take 1 s on a slow machine, and all other texts wait. */
const TIME_LIMIT_MS = 10_000
/** Texts come in groups: the author's, then the server's, then the next pipeline's. */
const IDLE_MS = 5_000

/**
 * PostgreSQL's parser in its own thread, which exists only while texts arrive: it reserves 137 MB of address space, and
 * a runner that knows its texts does not need it.
 */
export class Parser {
  readonly #idleMs: number
  #thread: Promise<Worker> | null = null
  /** One text at a time, so that a crash or a time-out is attributed to the text that caused it. */
  #turn: Promise<unknown> = Promise.resolve()
  #idle: NodeJS.Timeout | undefined

  constructor({ idleMs = IDLE_MS }: { idleMs?: number } = {}) {
    this.#idleMs = idleMs
  }

  get isRunning(): boolean {
    return this.#thread !== null
  }

  parse(sql: string): Promise<ParsedText> {
    return this.#inTurn(() => this.#parse(sql))
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work)
    this.#turn = mine.catch(() => {})
    return mine
  }

  async #parse(sql: string): Promise<ParsedText> {
    clearTimeout(this.#idle)
    this.#thread ??= this.#start()
    const worker = await this.#thread.catch((error) => {
      this.#thread = null
      throw error
    })
    // An idle thread does not keep the process alive; a working one does, or a command would end during its own check.
    worker.ref()
    const answer = await ask(worker, sql)
    worker.unref()
    if (answer.kind === 'tree' || answer.kind === 'syntax' || answer.kind === 'deep') {
      this.#idle = setTimeout(() => void this.#inTurn(() => this.#end(worker)), this.#idleMs).unref()
      return answer
    }
    await this.#end(worker)
    return { kind: 'deep' }
  }

  async #start(): Promise<Worker> {
    const worker = new Worker(new URL('./parser-thread.mjs', import.meta.url))
    const ready = await nextAnswer(worker)
    if (ready.kind !== 'ready') throw new Error(`The SQL parser did not start: ${JSON.stringify(ready)}`)
    worker.on('error', () => {})
    // A thread that died between two requests must not get the next one.
    worker.once('exit', () => {
      this.#thread = null
    })
    worker.unref()
    return worker
  }

  /** Waits for its end, so that the next text starts a new thread. */
  async #end(worker: Worker): Promise<void> {
    await worker.terminate()
    this.#thread = null
  }
}

/** The one parser of this process. */
const parser = new Parser()

export function parseSql(sql: string): Promise<ParsedText> {
  return parser.parse(sql)
}

function ask(worker: Worker, sql: string): Promise<ParserMessage> {
  const answer = nextAnswer(worker)
  worker.postMessage({ sql, limits: { depth: MAX_DEPTH, nodes: MAX_NODES } })
  return answer
}

function nextAnswer(worker: Worker): Promise<ParserMessage> {
  return new Promise((resolve) => {
    const broken = (reason: unknown) => done({ kind: 'broken', reason: String(reason) })
    const ended = () => broken('the thread ended')
    const timer = setTimeout(() => broken('time-out'), TIME_LIMIT_MS)
    const tooDeep = () => done({ kind: 'deep' })
    worker.once('message', done).once('messageerror', tooDeep).once('error', broken).once('exit', ended)

    function done(answer: ParserMessage): void {
      clearTimeout(timer)
      worker.off('message', done).off('messageerror', tooDeep).off('error', broken).off('exit', ended)
      resolve(answer)
    }
  })
}
