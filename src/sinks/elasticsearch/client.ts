import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import { VitrinaError } from '../../model/errors.js'
import type { ElasticsearchSettings } from './config.js'

export interface HttpResponse {
  readonly status: number
  readonly body: string
  /** The `Retry-After` header; 0 without it. */
  readonly retryAfterMs: number
}

export interface Request {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  /** A buffer is NDJSON and sent unchanged; anything else is serialized as JSON. */
  readonly body?: Buffer | object
  readonly signal: AbortSignal
}

/** No complete response arrived: it is unknown whether the server performed the request. */
export class NoResponse extends Error {}

interface Node {
  readonly url: URL
  readonly label: string
  readonly authorization: string | null
}

/** Inactivity timeout of a request. A bulk request is acknowledged within seconds. */
const SILENCE_MS = 90_000
/** Without it, a host that drops packets would hold the request for the full inactivity timeout. */
const CONNECT_MS = 10_000
/** Enough for a page of documents or the errors of a whole bulk. A longer response is invalid. */
const RESPONSE_BYTES = 256 * 1024 * 1024

/**
 * HTTP to one cluster: keep-alive, time limits, the next node when one fails. Each request is sent once; the caller
 * decides whether to repeat it.
 */
export class ElasticsearchClient {
  readonly #nodes: readonly Node[]
  readonly #agent: http.Agent
  #current = 0

  constructor(settings: ElasticsearchSettings, silenceMs = SILENCE_MS) {
    this.#nodes = (settings.ELASTICSEARCH_URL ?? []).map((url) => toNode(url, settings))
    const isTls = this.#nodes.some(({ url }) => url.protocol === 'https:')
    const options = {
      keepAlive: true,
      timeout: silenceMs,
      maxSockets: settings.ELASTICSEARCH_PARALLEL_BULKS + 1,
    }
    this.#agent = isTls ? new https.Agent({ ...options, ...trusted(settings) }) : new http.Agent(options)
  }

  /** The address of the next request, without credentials. */
  get address(): string {
    return this.#nodes[this.#current]!.label
  }

  async send(request: Request): Promise<HttpResponse> {
    request.signal.throwIfAborted()
    const node = this.#nodes[this.#current]!
    try {
      return await exchange(node, request, this.#agent)
    } catch (error) {
      request.signal.throwIfAborted()
      this.#leave(node)
      throw new NoResponse(`${node.label}: ${plainReason(error)}`, { cause: error })
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Requests run in parallel: only the first one that fails at a node switches to the next node. */
  #leave(node: Node): void {
    if (this.#nodes[this.#current] === node) this.#current = (this.#current + 1) % this.#nodes.length
  }
}

function exchange(
  node: Node,
  { method, path, body, signal }: Request,
  agent: http.Agent,
): Promise<HttpResponse> {
  const bytes = body === undefined ? null : Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
  const type = Buffer.isBuffer(body) ? 'application/x-ndjson' : 'application/json'
  const headers: http.OutgoingHttpHeaders = {
    accept: 'application/json',
    ...(node.authorization === null ? {} : { authorization: node.authorization }),
    ...(bytes === null ? {} : { 'content-type': type, 'content-length': bytes.length }),
  }
  const url = new URL(node.url.pathname.replace(/\/$/, '') + path, node.url)
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? https.request : http.request
    const request = send(url, { method, headers, agent, signal }, (response) => {
      collect(response).then((text) => resolve(answerOf(response, text)), reject)
    })
    request.on('timeout', () => request.destroy(new Error('response timed out')))
    request.on('error', reject)
    request.on('socket', (socket) => limitConnecting(socket, request))
    request.end(bytes)
  })
}

function limitConnecting(socket: Socket, request: http.ClientRequest): void {
  if (!socket.connecting) return
  const timer = setTimeout(() => request.destroy(new Error('connection timed out')), CONNECT_MS)
  for (const event of ['connect', 'close']) socket.once(event, () => clearTimeout(timer))
}

async function collect(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    chunks.push(chunk)
    size += chunk.length
    if (size > RESPONSE_BYTES) throw new Error(`response exceeds ${RESPONSE_BYTES} bytes`)
  }
  // Node.js does not always report a body that ends early as an error; half a response must not count as one.
  if (!response.complete) throw new Error('the response was cut off')
  return Buffer.concat(chunks).toString('utf8')
}

function answerOf(response: http.IncomingMessage, body: string): HttpResponse {
  const seconds = Number(response.headers['retry-after'] ?? 0)
  return { status: response.statusCode ?? 0, body, retryAfterMs: seconds > 0 ? seconds * 1000 : 0 }
}

function toNode(text: string, settings: ElasticsearchSettings): Node {
  const url = new URL(text)
  const authorization = authorizationOf(url, settings)
  url.username = ''
  url.password = ''
  return { url, label: url.host, authorization }
}

function authorizationOf(url: URL, settings: ElasticsearchSettings): string | null {
  if (settings.ELASTICSEARCH_API_KEY !== undefined) return `ApiKey ${settings.ELASTICSEARCH_API_KEY}`
  const user = settings.ELASTICSEARCH_USERNAME ?? decodeURIComponent(url.username)
  if (user === '') return null
  const password = settings.ELASTICSEARCH_PASSWORD ?? decodeURIComponent(url.password)
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

function trusted({ ELASTICSEARCH_CA_FILE: file }: ElasticsearchSettings): { ca?: Buffer } {
  if (file === undefined) return {}
  try {
    return { ca: readFileSync(file) }
  } catch (error) {
    throw new VitrinaError(
      'SETTING_INVALID',
      `ELASTICSEARCH_CA_FILE is ${file}, which cannot be read.`,
      'Set it to a readable PEM file, or unset it.',
      { cause: error },
    )
  }
}

/** Socket errors have codes; with several addresses, the codes are on the nested errors. */
function plainReason(error: unknown): string {
  const { code, message, errors } = error as NodeJS.ErrnoException & { errors?: Error[] }
  return message || errors?.[0]?.message || code || String(error)
}
