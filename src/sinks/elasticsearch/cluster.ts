import { Backoff } from './backoff.js'
import { ElasticsearchClient, type HttpResponse, NoResponse, type Request } from './client.js'
import type { ElasticsearchSettings } from './config.js'
import { errorOf, isTemporary, isUntrusted, sinkError, unavailable } from './errors.js'

/** Requests about an index are small: a server that does not answer them within this time is down. */
const ASK_MS = 5_000

export interface IndexRequest extends Omit<Request, 'signal'> {
  /** The target as named in messages: `es:film_dim`. */
  readonly target: string
  /** Statuses besides 2xx that are valid responses. */
  readonly accept?: readonly number[]
  /** Repeating the request would return something else: a scroll advances with every request. */
  readonly once?: boolean
}

/** The cluster as seen by one attempt: sends requests, retries for a while and classifies errors. */
export class Cluster {
  readonly client: ElasticsearchClient
  readonly signal: AbortSignal

  constructor(settings: ElasticsearchSettings, signal: AbortSignal) {
    this.client = new ElasticsearchClient(settings)
    this.signal = signal
  }

  async ask<T>(question: IndexRequest): Promise<{ status: number; body: T }> {
    const { status, body } = await this.askText(question)
    try {
      return { status, body: (body === '' ? null : JSON.parse(body)) as T }
    } catch (error) {
      throw unavailable(new NoResponse(`${this.client.address}: the response is not JSON`, { cause: error }))
    }
  }

  async askText({ target, accept = [], once = false, ...request }: IndexRequest): Promise<HttpResponse> {
    const backoff = new Backoff(once ? 0 : ASK_MS, this.signal)
    for (;;) {
      const answer = await this.#try(request)
      if (answer instanceof NoResponse) {
        if (isUntrusted(answer) || !(await backoff.wait())) throw unavailable(answer)
        continue
      }
      const { status } = answer
      if ((status >= 200 && status < 300) || accept.includes(status)) return answer
      if (!isTemporary(status) || !(await backoff.wait(answer.retryAfterMs)))
        throw sinkError(status, errorOf(answer), target)
    }
  }

  async #try(request: Omit<Request, 'signal'>): Promise<HttpResponse | NoResponse> {
    try {
      return await this.client.send({ ...request, signal: this.signal })
    } catch (error) {
      if (error instanceof NoResponse) return error
      throw error
    }
  }
}
