import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { eventGapWire, liveEventWire } from '../schemas/event.js'
import type { Api } from '../schemas/type-provider.js'
import type { EventHub } from '../services/event-hub.js'
import { type EventFilter, EventStream } from '../services/event-stream.js'
import { type PlaceLimits, Places } from '../services/places.js'
import { rule } from './rule.js'

const HEARTBEAT_MS = 15_000
/** How long a client waits before it reconnects. */
const RETRY_MS = 2_000

const seq = z.string().regex(/^\d{1,15}$/, 'must be the id of an event')
const eventHeaders = z.looseObject({
  'last-event-id': seq.optional().describe('Events after this one are sent first.'),
})
const eventQuery = z.strictObject({
  last_event_id: seq.optional().describe('The same, for clients that cannot set headers.'),
  pipeline_id: z.guid().optional().describe('Only events of this pipeline.'),
  run_id: z.guid().optional().describe('Only events of this run.'),
})

/** Server-sent events: every transition and each batch of all runners. One stream serves one client. */
export function eventRoutes(app: Api, hub: EventHub, streams: EventStreams): void {
  app.get(
    '/events',
    {
      config: rule('viewer', {
        tag: 'events',
        summary: 'Stream the events of all pipelines and runners as server-sent events.',
        media: 'text/event-stream',
        content: z
          .union([liveEventWire, eventGapWire])
          .describe('The data of each event, as JSON. EventGap is the data of the event "gap".'),
        quiet: true,
        problems: [429],
      }),
      schema: { headers: eventHeaders, querystring: eventQuery },
    },
    async (request, reply) => {
      const { last_event_id, pipeline_id, run_id } = request.query
      const last = request.headers['last-event-id'] ?? last_event_id
      const filter = { pipelineId: pipeline_id, runId: run_id }
      await streams.open(request, reply, { hub, last: last === undefined ? null : Number(last), filter })
    },
  )
}

interface Opening {
  readonly hub: EventHub
  readonly last: number | null
  readonly filter: EventFilter
}

/** The open streams: limited in total and per caller. The server ends them when it closes. */
export class EventStreams {
  readonly #open = new Set<() => void>()
  readonly #places: Places
  readonly #heartbeatMs: number

  constructor(limits: PlaceLimits, heartbeatMs: number = HEARTBEAT_MS) {
    this.#places = new Places(limits, {
      what: 'open event streams',
      remedy: 'Close one, then try again; one stream carries the events of all pipelines.',
    })
    this.#heartbeatMs = heartbeatMs
  }

  /** Streams until either side ends it. */
  async open(request: FastifyRequest, reply: FastifyReply, { hub, last, filter }: Opening): Promise<void> {
    this.#takePlace(request.caller!.id, reply)
    const stream = new EventStream(reply.raw, hub, filter)
    reply.raw.on('close', () => hub.leave(stream))
    const head = await hub.join(stream)
    const { from, missed } = await whereToBegin(hub, head, last).catch((error) => {
      hub.leave(stream)
      throw error
    })
    startAnswer(reply)
    if (missed !== null) reply.raw.write(`event: gap\ndata: ${JSON.stringify(missed)}\n\n`)
    this.#keepAlive(request, reply, stream)
    // The client disconnected in the meantime: "close" was emitted and will not be emitted again.
    if (reply.raw.destroyed) hub.leave(stream)
    await stream.start(from)
  }

  close(): void {
    for (const end of this.#open) end()
  }

  /** Held until the connection is closed or the response is an error. */
  #takePlace(caller: string, reply: FastifyReply): void {
    const free = this.#places.take(caller)
    if (reply.raw.destroyed) free()
    else reply.raw.once('close', free)
  }

  #keepAlive(request: FastifyRequest, reply: FastifyReply, stream: EventStream): void {
    const end = () => reply.raw.end()
    const beat = setInterval(async () => {
      // An unavailable database does not end a stream; a revoked token does.
      if (await request.isStillValid().catch(() => true)) stream.heartbeat()
      else end()
    }, this.#heartbeatMs)
    const forget = () => {
      clearInterval(beat)
      this.#open.delete(end)
    }
    this.#open.add(end)
    reply.raw.on('close', forget)
    if (reply.raw.destroyed) forget()
  }
}

/** `missed`: events after `last` are no longer stored, or the number does not come from this database. */
async function whereToBegin(hub: EventHub, head: number, last: number | null) {
  if (last === null) return { from: head, missed: null }
  const tail = await hub.tail()
  const from = Math.min(last, head)
  const isMissed = last > head || last + 1 < tail
  return { from, missed: isMissed ? { after: last, from: Math.max(from + 1, tail) } : null }
}

function startAnswer(reply: FastifyReply): void {
  reply.hijack()
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // nginx would buffer events until its buffer is full.
    'x-accel-buffering': 'no',
  })
  reply.raw.write(`retry: ${RETRY_MS}\n\n`)
}
