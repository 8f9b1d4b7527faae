import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import type { Meter } from '../telemetry/meter.js'
import { VERSION } from './paths.js'
import { listenFailed } from './port.js'

export interface MetricsEndpoint {
  readonly port: number
  close(): Promise<void>
}

export interface MetricsEndpointOptions {
  readonly host: string
  readonly port: number
  readonly isReady: () => boolean
}

/** The metrics and the health of a runner, for monitoring. The runner itself has no HTTP server. */
export async function serveMetrics(
  meter: Meter,
  { host, port, isReady }: MetricsEndpointOptions,
): Promise<MetricsEndpoint> {
  const server = createServer(async (request, response) => {
    // Node reads the first of several Host headers, a proxy may read the last.
    if ((request.headersDistinct.host?.length ?? 0) > 1) return void response.writeHead(400).end()
    if (isLoopback(host) && !namesThisMachine(request)) return void response.writeHead(421).end()
    const path = request.url?.split('?', 1)[0]
    if (path === '/metrics') response.setHeader('content-type', meter.contentType).end(await meter.text())
    else if (path === '/health') sendStatus(response, 200, 'ok')
    else if (path === '/health/ready')
      sendStatus(response, isReady() ? 200 : 503, isReady() ? 'ok' : 'unavailable')
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenFailed(host, port, error)))
    server.listen(port, host, resolve)
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/**
 * Prevents DNS rebinding: the name of a web page may resolve to 127.0.0.1, and the page could read the metrics, which
 * no token protects. A browser sends that name. On a configured address, other machines may use any name.
 */
function namesThisMachine({ headers }: IncomingMessage): boolean {
  const name = (headers.host ?? '').replace(/:\d+$/, '').toLowerCase()
  return name === '' || name === 'localhost' || isIP(name.replace(/^\[|\]$/g, '')) !== 0
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host)
}

/** In the format of the API. */
function sendStatus(response: ServerResponse, code: number, status: string): void {
  response.writeHead(code, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ status, version: VERSION }))
}
