import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import { VitrinaError } from '../../model/errors.js'
import type { ElasticsearchSettings } from './config.js'

export interface Answer {
  readonly status: number
  readonly body: string
  /** What `Retry-After` asks for; 0 without it. */
  readonly retryAfterMs: number
}

export interface Request {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  /** A buffer is NDJSON and is sent as it is; anything else becomes JSON. */
  readonly body?: Buffer | object
  readonly signal: AbortSignal
}

/** No answer came, or not all of it: whether the server did what was asked is not known. */
export class NoAnswer extends Error {}

interface Node {
  readonly url: URL
  readonly label: string
  readonly authorization: string | null
}

/** Node.js gives up on a server that says nothing for this long. A bulk request is acknowledged in seconds. */
const SILENCE_MS = 90_000
/** A host that swallows packets would otherwise hold the request as long. */
const CONNECT_MS = 10_000
/** A portion of documents, or what is wrong with each of a bulk. More than this is not an answer to one of our questions. */
const ANSWER_BYTES = 256 * 1024 * 1024

/**
 * HTTP to one cluster: keep-alive, time limits, the next node when one fails. One request is sent once; who may repeat
 * it decides.
 */
export class Client {
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

  /** Where the next request goes, without credentials. */
  get address(): string {
    return this.#nodes[this.#current]!.label
  }

  async send(request: Request): Promise<Answer> {
    request.signal.throwIfAborted()
    const node = this.#nodes[this.#current]!
    try {
      return await exchange(node, request, this.#agent)
    } catch (error) {
      request.signal.throwIfAborted()
      this.#leave(node)
      throw new NoAnswer(`${node.label}: ${plainReason(error)}`, { cause: error })
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Requests run in parallel: only the first that fails at a node moves on to the next one. */
  #leave(node: Node): void {
    if (this.#nodes[this.#current] === node) this.#current = (this.#current + 1) % this.#nodes.length
  }
}

function exchange(node: Node, { method, path, body, signal }: Request, agent: http.Agent): Promise<Answer> {
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
    request.on('timeout', () => request.destroy(new Error('no answer in time')))
    request.on('error', reject)
    request.on('socket', (socket) => limitConnecting(socket, request))
    request.end(bytes)
  })
}

function limitConnecting(socket: Socket, request: http.ClientRequest): void {
  if (!socket.connecting) return
  const timer = setTimeout(() => request.destroy(new Error('no connection in time')), CONNECT_MS)
  for (const event of ['connect', 'close']) socket.once(event, () => clearTimeout(timer))
}

async function collect(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    chunks.push(chunk)
    size += chunk.length
    if (size > ANSWER_BYTES) throw new Error(`an answer of more than ${ANSWER_BYTES} bytes`)
  }
  // A body that ends early is not always an error to Node.js: half of an answer must not count as one.
  if (!response.complete) throw new Error('the answer was cut off')
  return Buffer.concat(chunks).toString('utf8')
}

function answerOf(response: http.IncomingMessage, body: string): Answer {
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
      `ELASTICSEARCH_CA_FILE names ${file}, which cannot be read.`,
      'Name a readable PEM file, or unset it.',
      { cause: error },
    )
  }
}

/** Errors of sockets have codes, those of several addresses only inside. */
function plainReason(error: unknown): string {
  const { code, message, errors } = error as NodeJS.ErrnoException & { errors?: Error[] }
  return message || errors?.[0]?.message || code || String(error)
}
