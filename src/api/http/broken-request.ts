import { randomUUID } from 'node:crypto'
import { type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { VitrinaError } from '../../model/errors.js'
import type { Api } from '../schemas/type-provider.js'
import { toProblem } from './problem.js'

/** A request that Node cannot parse never reaches a route; it still gets a problem document. */
export function rejectUnparsable(error: Error & { code?: string }, socket: Socket): void {
  if (error.code !== 'ECONNRESET' && socket.writable) socket.write(answerTo(error.code))
  socket.destroy()
}

/** Requests that Node would reject without an explanation: no Host header, CONNECT, and "Expect: something". */
export function explainRejections(app: Api): void {
  app.addHook('onRequest', async ({ raw }) => {
    if (raw.headers.host === undefined && raw.httpVersion === '1.1')
      throw Object.assign(new Error('The request has no Host header.'), { statusCode: 400 })
    // Node uses the first one; a proxy in front may have used the second.
    if (hostHeaders(raw.rawHeaders) > 1)
      throw Object.assign(new Error('The request has more than one Host header.'), { statusCode: 400 })
  })
  const server = app.server as Server
  server.on('connect', (_request, socket) => rejectUnparsable({ code: 'CONNECT' } as never, socket as Socket))
  // RFC 9110 allows ignoring unknown expectations.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
}

function hostHeaders(rawHeaders: readonly string[]): number {
  return rawHeaders.filter((text, at) => at % 2 === 0 && text.toLowerCase() === 'host').length
}

function answerTo(code: string | undefined): string {
  const { status, detail, hint } = REQUEST_FAULTS[code ?? ''] ?? UNREADABLE
  const failure = { status, error: new VitrinaError('REQUEST_INVALID', detail, hint) }
  const body = JSON.stringify(toProblem({ id: randomUUID(), path: '' }, failure))
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

interface RequestFault {
  readonly status: number
  readonly detail: string
  readonly hint: string
}

const REQUEST_FAULTS: Readonly<Record<string, RequestFault>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    detail: 'The URL and the headers together are larger than 16 KiB.',
    hint: 'Send a shorter query or fewer headers.',
  },
  CONNECT: {
    status: 405,
    detail: 'This server is not a proxy.',
    hint: 'Send the request to the server directly.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    detail: 'The request was not received completely in time.',
    hint: 'Send it again without interruption.',
  },
}

const UNREADABLE: RequestFault = {
  status: 400,
  detail: 'The request is not valid HTTP.',
  hint: 'Check what your client sends, and whether a proxy changes it.',
}
