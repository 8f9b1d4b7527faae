import { watchNpx } from './npx.js'

/** Why work ended early: a stop was requested. */
export class Stopped extends Error {
  readonly exitCode: number

  constructor(asked: string) {
    super(`Stopped by ${asked}.`)
    this.name = 'Stopped'
    this.exitCode = asked === 'SIGTERM' ? 143 : 130
  }
}

/** One Ctrl-C may arrive twice: from the terminal, and forwarded by npm. */
const SAME_PRESS_MS = 1_000
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Does `work` until it is done or a stop is requested; then it has time to end normally. */
export async function untilStopped<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const release = process.connected ? listenToParent(controller) : listenToPeople(controller)
  try {
    return await work(controller.signal)
  } finally {
    release()
  }
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

function listenToPeople(controller: AbortController): () => void {
  let first = 0
  const stop = (name: NodeJS.Signals) => {
    if (!controller.signal.aborted) {
      first = performance.now()
      controller.abort(new Stopped(name))
    } else if (performance.now() - first > SAME_PRESS_MS) {
      // Work that cannot wait. Our children notice that we are gone, and so does the guard of the database.
      process.stderr.write('Stopping at once.\n')
      process.exit(130)
    }
  }
  for (const name of SIGNALS) process.on(name, stop)
  const forget = watchNpx(() => stop('SIGTERM'))
  return () => {
    forget()
    for (const name of SIGNALS) process.off(name, stop)
  }
}

/** Within "vitrina up" the parent decides: Ctrl-C reaches this process too, but the parent may still need it. */
function listenToParent(controller: AbortController): () => void {
  const stop = () => controller.abort(new Stopped('its parent'))
  const ignore = () => {}
  process
    .on('message', stop)
    .on('disconnect', stop)
    .on('SIGTERM', stop)
    .on('SIGINT', ignore)
    .on('SIGHUP', ignore)
  return () => {
    process
      .off('message', stop)
      .off('disconnect', stop)
      .off('SIGTERM', stop)
      .off('SIGINT', ignore)
      .off('SIGHUP', ignore)
    if (process.connected) process.disconnect()
  }
}
