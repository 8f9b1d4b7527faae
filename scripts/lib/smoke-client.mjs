import { Finding } from './smoke-finding.mjs'

const REASONS = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the host name is unknown',
  ECONNRESET: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is self-signed',
}

/** Sends requests to the server, and turns every failure to respond into a finding. */
export class SmokeClient {
  #url
  #token
  #timeoutMs

  constructor({ url, token, timeoutMs }) {
    this.#url = url
    this.#token = token
    this.#timeoutMs = timeoutMs
  }

  get url() {
    return this.#url
  }

  /** `token` replaces the given one, null sends none; `waitMs` is what the request itself may wait for. */
  async ask(path, { method = 'GET', body, token = this.#token, waitMs = 0 } = {}) {
    const headers = {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    const began = performance.now()
    try {
      const response = await fetch(this.#url + path, {
        method,
        headers,
        signal: AbortSignal.timeout(this.#timeoutMs + waitMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return answerOf(response, await response.text(), performance.now() - began)
    } catch (error) {
      throw this.#unreachable(path, error)
    }
  }

  /** The same, where only success will do. */
  async get(path, options) {
    const answer = await this.ask(path, options)
    if (answer.status >= 200 && answer.status < 300) return answer
    throw refused(`${options?.method ?? 'GET'} ${path}`, answer)
  }

  #unreachable(path, error) {
    if (error.name === 'TimeoutError')
      return Finding.failed(
        `${this.#url}${path} did not respond within ${this.#timeoutMs / 1000} s.`,
        'Check the load of the server and its log; --timeout waits longer.',
      )
    const code = error.cause?.code ?? error.code
    return Finding.failed(
      `${this.#url} cannot be reached: ${REASONS[code] ?? code ?? error.cause?.message ?? error.message}.`,
      'Check the address, and whether "vitrina up" or "vitrina api" is running there.',
    )
  }
}

function answerOf(response, text, tookMs) {
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    text,
    tookMs: Math.round(tookMs),
    json: parsed(text),
  }
}

/** Null: it is not JSON. */
function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

export function refused(what, { status, json }) {
  const code = json?.code ? ` ${json.code}` : ''
  return Finding.failed(
    `${what} answered ${status}${code}. ${json?.detail ?? ''}`.trim(),
    json?.hint ?? 'Check that the address is a Vitrina API, and the log of the server.',
  )
}
