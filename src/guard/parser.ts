import { Worker } from 'node:worker_threads'

/** A node of the parser's tree, as protobuf JSON: a missing field has its default. */
export type Tree = { readonly [field: string]: unknown }

export type Parsed =
  | { readonly kind: 'tree'; readonly statements: readonly Tree[] }
  | { readonly kind: 'syntax'; readonly message: string; readonly character: number }
  /** More than anybody writes by hand, and more than the parser's stack may bear. */
  | { readonly kind: 'deep' }

type Answer = Parsed | { readonly kind: 'ready' } | { readonly kind: 'broken'; readonly reason: string }

/** JSON levels, about three for a level of SQL: `1+1+…` with 1,000 signs passes, and so do 400 nested selects. */
const MAX_DEPTH = 4_000
/** 256 kB take 1 s on a slow machine. */
const TIME_LIMIT_MS = 20_000

/** The one parser of this process: it reserves 137 MB of addresses, and starts when the first text comes. */
let thread: Promise<Worker> | null = null
/** One text at a time, so that a crash or a time-out falls on the text that caused it. */
let turn: Promise<unknown> = Promise.resolve()

export function parseSql(sql: string): Promise<Parsed> {
  const mine = turn.then(() => parseNow(sql))
  turn = mine.catch(() => {})
  return mine
}

async function parseNow(sql: string): Promise<Parsed> {
  thread ??= startThread()
  const worker = await thread.catch((error) => {
    thread = null
    throw error
  })
  // Idle it keeps no process alive; while it works it does, or a command would end in the middle of its question.
  worker.ref()
  const answer = await ask(worker, sql)
  worker.unref()
  if (answer.kind === 'tree' || answer.kind === 'syntax' || answer.kind === 'deep') return answer
  thread = null
  await worker.terminate()
  return { kind: 'deep' }
}

async function startThread(): Promise<Worker> {
  const worker = new Worker(new URL('./parser-thread.mjs', import.meta.url))
  const ready = await nextAnswer(worker)
  if (ready.kind !== 'ready') throw new Error(`The SQL parser did not start: ${JSON.stringify(ready)}`)
  // A thread that dies between two questions is noticed by the next one.
  worker.on('error', () => {})
  worker.unref()
  return worker
}

function ask(worker: Worker, sql: string): Promise<Answer> {
  const answer = nextAnswer(worker)
  worker.postMessage({ sql, maxDepth: MAX_DEPTH })
  return answer
}

function nextAnswer(worker: Worker): Promise<Answer> {
  return new Promise((resolve) => {
    const broken = (reason: unknown) => done({ kind: 'broken', reason: String(reason) })
    const ended = () => broken('the thread ended')
    const timer = setTimeout(() => broken('time-out'), TIME_LIMIT_MS)
    worker.once('message', done).once('error', broken).once('exit', ended)

    function done(answer: Answer): void {
      clearTimeout(timer)
      worker.off('message', done).off('error', broken).off('exit', ended)
      resolve(answer)
    }
  })
}
