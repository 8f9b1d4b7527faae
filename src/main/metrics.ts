import { createServer } from 'node:http'
import type { Meter } from '../telemetry/meter.js'
import { listenFailed } from './port.js'

export interface MetricsEndpoint {
  readonly port: number
  close(): Promise<void>
}

/** The metrics and the pulse of a runner, for whoever scrapes them on this machine. The runner itself speaks no HTTP. */
export async function serveMetrics(meter: Meter, port: number): Promise<MetricsEndpoint> {
  const server = createServer(async (request, response) => {
    if (request.url === '/metrics') {
      response.setHeader('content-type', meter.contentType)
      response.end(await meter.text())
    } else if (request.url === '/health') {
      response.setHeader('content-type', 'application/json')
      response.end('{"status":"ok"}')
    } else {
      response.statusCode = 404
      response.end()
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenFailed('127.0.0.1', port, error)))
    server.listen(port, '127.0.0.1', resolve)
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
