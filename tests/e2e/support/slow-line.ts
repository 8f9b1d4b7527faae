import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { ConsoleStand } from './stand.js'

/** Controls the responses of the API. */
export interface SlowLine {
  /** The address of the server behind the slow connection. */
  readonly url: string
  /** Holds responses whose path matches until `release` is called or the test ends. */
  hold(path: RegExp): { readonly release: () => void }
}

/** Responses arrive after skeletons become visible (150 ms), one after the other, not in the order of the requests. */
const API_MS = [200, 440, 280, 520, 360] as const
/** Lazily loaded scripts arrive in a separate frame; the browser caches them. */
const ASSET_MS = 40

/** A slow connection between browser and server, for all tests of a file. */
export function aSlowLine(stand: () => ConsoleStand): () => SlowLine {
  let url = ''
  const held = new Map<RegExp, Promise<void>>()
  const agent = new Agent({ keepAlive: true })
  const server = createServer(async (near, answer) => {
    const path = near.url ?? '/'
    await pause(delayOf(path))
    await Promise.all([...held].filter(([each]) => each.test(path)).map(([, released]) => released))
    forward(near, answer, { upstream: stand().url, agent })
  })
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    server.closeAllConnections()
    agent.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return () => ({
    url,
    hold: (path) => {
      let pass = () => {}
      held.set(path, new Promise((resolve) => (pass = resolve)))
      const release = () => {
        held.delete(path)
        pass()
      }
      onTestFinished(release)
      return { release }
    },
  })
}

/** Constant for each path, so that a screen always loads in the same order. */
function delayOf(path: string): number {
  const { pathname } = new URL(path, 'http://localhost')
  if (!pathname.startsWith('/api/')) return ASSET_MS
  const sum = [...pathname].reduce((all, letter) => all + letter.charCodeAt(0), 0)
  return API_MS[sum % API_MS.length] ?? 0
}

interface Way {
  readonly upstream: string
  readonly agent: Agent
}

function forward(near: IncomingMessage, answer: ServerResponse, { upstream, agent }: Way): void {
  const far = request(`${upstream}${near.url}`, { method: near.method, headers: near.headers, agent })
  far.on('response', (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers)
    response.pipe(answer)
  })
  // Either side may close at any time.
  far.on('error', () => answer.destroy())
  answer.on('close', () => far.destroy())
  near.pipe(far)
}
