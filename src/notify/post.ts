import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { VitrinaError } from '../model/errors.js'
import { type AllowedHosts, plainHost, resolveAllowed } from './allowed-host.js'

/** From the first packet to the last byte of the response. */
const TIME_LIMIT_MS = 10_000
/** Of the response. The rest is not read. */
const MOST_BYTES = 16 * 1024
const MOST_RETRY_SECONDS = 3_600

export interface PostRequest {
  readonly url: URL
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly allowed: AllowedHosts
  readonly signal?: AbortSignal | undefined
}

export interface PostResponse {
  readonly status: number
  /** The beginning of the body. */
  readonly text: string
  /** How long the receiver asks to wait; null: it does not say. */
  readonly retrySeconds: number | null
}

/** One POST to an allowed address. Redirects are not followed: they would lead around the list of allowed hosts. */
export async function post({ url, body, headers, allowed, signal }: PostRequest): Promise<PostResponse> {
  const host = plainHost(url.hostname)
  const limit = AbortSignal.timeout(TIME_LIMIT_MS)
  const ends = signal === undefined ? limit : AbortSignal.any([signal, limit])
  const { address, family } = await resolveAllowed(host, allowed, ends)
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(failed(host, limit.aborted ? null : error))
    const outgoing = request(
      {
        host: address,
        family,
        port: url.port || (url.protocol === 'https:' ? 443 : 80),
        path: url.pathname + url.search,
        method: 'POST',
        // The certificate is that of the name, also if the connection goes to its address.
        ...(url.protocol === 'https:' ? { servername: host } : {}),
        headers: {
          host: url.host,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'vitrina',
          ...headers,
        },
        agent: false,
        signal: ends,
      },
      (incoming) => {
        const chunks: Buffer[] = []
        let size = 0
        const done = () => {
          resolve({
            status: incoming.statusCode ?? 0,
            text: Buffer.concat(chunks).subarray(0, MOST_BYTES).toString('utf8'),
            retrySeconds: retryAfter(incoming.headers['retry-after']),
          })
          outgoing.destroy()
        }
        incoming.on('data', (chunk: Buffer) => {
          chunks.push(chunk)
          size += chunk.length
          if (size >= MOST_BYTES) done()
        })
        incoming.on('end', done)
        incoming.on('error', fail)
      },
    )
    outgoing.on('error', fail)
    outgoing.end(body)
  })
}

function retryAfter(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,6}$/.test(header)
    ? Math.min(Number(header), MOST_RETRY_SECONDS)
    : null
}

/** Null: the time limit has passed. */
function failed(host: string, error: Error | null): VitrinaError {
  const { code } = (error ?? {}) as { code?: string }
  const what =
    error === null
      ? `did not respond within ${TIME_LIMIT_MS / 1000} s`
      : `could not be reached (${code ?? error.message})`
  return new VitrinaError(
    'CHANNEL_FAILED',
    `${host} ${what}.`,
    'Check that the receiver is running and that the API server may connect to it.',
    { cause: error },
  )
}
