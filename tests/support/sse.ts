import type { FastifyInstance } from 'fastify'
import { waitFor } from './wait.js'

export interface SeenEvent {
  readonly id: number
  readonly event: string
  readonly data: Record<string, unknown>
}

/** A client of an event stream, over a real socket. */
export class SseClient {
  readonly events: SeenEvent[] = []
  readonly response: Response
  text = ''
  ended = false
  readonly #abort: AbortController

  constructor(response: Response, abort: AbortController) {
    this.response = response
    this.#abort = abort
    void this.#read()
  }

  waitFor(what: string, seen: (events: readonly SeenEvent[]) => boolean): Promise<boolean> {
    return waitFor(async () => seen(this.events), { what })
  }

  close(): void {
    this.#abort.abort()
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    try {
      for await (const chunk of this.response.body!) {
        const text = decoder.decode(chunk, { stream: true })
        this.text += text
        const blocks = (rest + text).split('\n\n')
        rest = blocks.pop()!
        for (const block of blocks) this.#take(block)
      }
    } catch {
      // Disconnected, by us or by the server.
    }
    this.ended = true
  }

  #take(block: string): void {
    const fields = Object.fromEntries(
      block.split('\n').map((line) => /^(\w*): ?(.*)$/.exec(line)?.slice(1) ?? ['', '']),
    )
    if (fields.data !== undefined)
      this.events.push({ id: Number(fields.id), event: fields.event ?? '', data: JSON.parse(fields.data) })
  }
}

export async function openStream(
  app: FastifyInstance,
  headers: Record<string, string>,
  query = '',
): Promise<SseClient> {
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('the API does not listen')
  const abort = new AbortController()
  const response = await fetch(`http://127.0.0.1:${address.port}/api/v1/events${query}`, {
    headers,
    signal: abort.signal,
  })
  return new SseClient(response, abort)
}
