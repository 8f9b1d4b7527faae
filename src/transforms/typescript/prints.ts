import type { HostEvent } from '../host-event.js'

/** Further lines of a batch are only counted: a loop that prints must not flood the runner. */
const MOST_LINES = 200
const LONGEST = 2_000

/** Turns the output to the console and the two streams of this thread into lines of the run. */
export function listenToPrints(send: (event: HostEvent) => void) {
  let transform: string | null = null
  let lines = 0
  const print = (text: string) => {
    lines += 1
    if (lines <= MOST_LINES) send({ op: 'output', transform, text })
  }
  const flushes = [process.stdout, process.stderr].map((stream) => intoLines(stream, print))
  return {
    working(name: string): void {
      transform = name
      send({ op: 'working', transform: name })
    },
    batchEnded(): void {
      for (const flush of flushes) flush()
      if (lines > MOST_LINES) send({ op: 'dropped', lines: lines - MOST_LINES })
      lines = 0
    },
  }
}

/** Returns a function that reports text written without a newline. */
function intoLines(stream: NodeJS.WriteStream, print: (text: string) => void): () => void {
  let rest = ''
  const cut = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text)
  const printLine = (text: string) => text.trimEnd() !== '' && print(cut(text.trimEnd()))
  stream.write = ((chunk: unknown, ...more: unknown[]) => {
    const pieces = (rest + (typeof chunk === 'string' ? chunk : Buffer.from(chunk as Uint8Array))).split('\n')
    rest = cut(pieces.pop() ?? '')
    for (const piece of pieces) printLine(piece)
    const done = more.find((one) => typeof one === 'function') as (() => void) | undefined
    if (done !== undefined) queueMicrotask(done)
    return true
  }) as typeof stream.write
  return () => {
    printLine(rest)
    rest = ''
  }
}
