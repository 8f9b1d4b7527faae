import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { Gone, HostAnswer } from '../host.js'
import { hostEnvironment } from '../host-environment.js'
import type { HostEvent } from '../host-event.js'
import { OUT_OF_MEMORY, OVER_MEMORY } from '../memory-end.js'
import { RunnerConnection } from './runner-connection.js'

/** File descriptors of the connection to the runner. */
const QUESTIONS_FD = 3
const ANSWERS_FD = 4
const WATCH_MS = 20
const MB = 1024 * 1024
/** The compiler that removes types: loaded with the first file, measured at 23 MB. */
const COMPILER_MB = 32

/** Messages of the thread: an answer with its rows, or null when it is ready for requests. */
type Posted = { readonly answer: HostAnswer | HostEvent; readonly payload?: Uint8Array } | null

/**
 * Runs functions in a thread, passes requests and answers between it and the runner, and monitors the memory of the
 * whole process from outside that thread. The heap limit of a thread is not enough: buffers are outside the heap.
 */
export function runWatchedThread({ memory_mb: memoryMb }: { readonly memory_mb: number }): void {
  const wire = new RunnerConnection(QUESTIONS_FD, ANSWERS_FD)
  const { port1, port2 } = new MessageChannel()
  const worker = startThread(port2, memoryMb)
  port1.on('message', (posted: Posted) => {
    if (posted !== null) return void wire.send(posted.answer, bufferOf(posted.payload))
    watchMemory(memoryMb)
    void passQuestions(wire, port1)
  })
  // Output that bypasses our write(), for instance warnings of the runtime.
  for (const stream of [worker.stdout, worker.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\n'))
        if (line.trim() !== '') void wire.send({ op: 'output', transform: null, text: line })
    })
  whenEnded(worker, (gone) => void wire.send({ op: 'gone', gone }).then(() => endWith('SIGKILL')))
}

function startThread(port: MessagePort, memoryMb: number): Worker {
  return new Worker(new URL('./thread.mjs', import.meta.url), {
    workerData: { port },
    transferList: [port],
    env: hostEnvironment(),
    argv: [],
    execArgv: [],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  })
}

/** Reads ahead while the thread works: the runner limits the number of batches in flight. */
async function passQuestions(wire: RunnerConnection, port: MessagePort): Promise<void> {
  for (let frame = await wire.receive(); frame !== null; frame = await wire.receive()) {
    const { header: question, payload } = frame
    port.postMessage({ question, payload }, [payload.buffer as ArrayBuffer])
  }
  // The runner has closed or ended. A function in native code would delay an orderly exit.
  endWith('SIGKILL')
}

function bufferOf(payload: Uint8Array | undefined): Buffer | null {
  return payload === undefined ? null : Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
}

/** Called before the first user file is loaded: memory in use at that point is ours, the rest is the functions'. */
function watchMemory(memoryMb: number): void {
  const most = process.memoryUsage.rss() + (COMPILER_MB + memoryMb) * MB
  setInterval(() => {
    if (process.memoryUsage.rss() > most) endWith(OVER_MEMORY)
  }, WATCH_MS)
}

function whenEnded(worker: Worker, act: (gone: Gone) => void): void {
  let why: Gone | null = null
  worker.on('error', (error: Error & { code?: string }) => {
    const how = `was stopped by an error outside of any call (${error.name}: ${error.message})`
    why = error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? OUT_OF_MEMORY : { how, why: 'ended' }
  })
  worker.once('exit', (code) => {
    const gone: Gone = why ?? { how: `exited with code ${code}`, why: 'ended' }
    // Messages posted before its end are still to be delivered.
    setImmediate(() => act(gone))
  })
}

/** Not process.exit, which waits for the thread. */
function endWith(signal: NodeJS.Signals): void {
  process.kill(process.pid, signal)
}
