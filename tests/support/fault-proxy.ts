import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Exchange {
  readonly method: string
  readonly path: string
  readonly body: Buffer
  readonly headers: http.IncomingHttpHeaders
}

/** What happens to a request. `pass` forwards it to the server, and may change the response. */
export type ProxyFault =
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly body?: unknown
      readonly headers?: http.OutgoingHttpHeaders
    }
  /** The server does not receive it. */
  | { readonly kind: 'cut' }
  /** The server executes it, but the response is lost. */
  | { readonly kind: 'lose' }
  /** The response ends in the middle. */
  | { readonly kind: 'half' }
  | {
      readonly kind: 'pass'
      /** What the request waits for. */
      readonly after?: () => Promise<void>
      readonly change?: (body: string) => string | Promise<string>
    }

const PASS: ProxyFault = { kind: 'pass' }

/** A proxy in front of a server, which treats each request as the test specifies. */
export class FaultProxy {
  readonly url: string
  /** Called for every request; null forwards it. */
  fault: (exchange: Exchange) => ProxyFault | null = () => null
  readonly seen: Exchange[] = []

  readonly #server: http.Server

  private constructor(url: string, server: http.Server) {
    this.url = url
    this.#server = server
  }

  /** For one test. */
  static async before(upstream: string): Promise<FaultProxy> {
    const proxy = await FaultProxy.open(upstream)
    onTestFinished(() => proxy.close())
    return proxy
  }

  static async open(upstream: string): Promise<FaultProxy> {
    const server = http.createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const proxy = new FaultProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, server)
    server.on('request', (request, response) => {
      proxy.#serve(upstream, request, response).catch(() => request.socket.destroy())
    })
    return proxy
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** Requests to the server, by the end of their path. */
  bulks(): Exchange[] {
    return this.seen.filter(({ path }) => path.includes('/_bulk'))
  }

  async #serve(
    upstream: string,
    request: http.IncomingMessage,
    response: http.ServerResponse,
  ): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const exchange = {
      method: request.method!,
      path: request.url!,
      body: Buffer.concat(chunks),
      headers: request.headers,
    }
    this.seen.push(exchange)
    const fault = this.fault(exchange) ?? PASS
    if (fault.kind === 'answer') {
      response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers })
      response.end(JSON.stringify(fault.body ?? {}))
      return
    }
    if (fault.kind === 'cut') return void request.socket.destroy()
    if (fault.kind === 'pass') await fault.after?.()
    const { status, body } = await forward(upstream, exchange)
    if (fault.kind === 'lose') return void request.socket.destroy()
    const text = fault.kind === 'pass' && fault.change !== undefined ? await fault.change(body) : body
    response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    })
    if (fault.kind === 'pass') return void response.end(text)
    response.write(text.slice(0, text.length / 2), () => request.socket.destroy())
  }
}

async function forward(upstream: string, { method, path, body, headers }: Exchange) {
  const answer = await fetch(upstream + path, {
    method,
    headers: { 'content-type': headers['content-type'] ?? 'application/json' },
    ...(body.length === 0 ? {} : { body }),
  })
  return { status: answer.status, body: await answer.text() }
}
