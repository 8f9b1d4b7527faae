import { finished, Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { closeIfStalled } from '../http/unread.js'
import { type PlaceLimits, Places } from '../services/places.js'

const LIMITS: PlaceLimits = { total: 12, perToken: 4 }
/** A client that reads nothing for this long gives up its place. */
const STALLED_MS = 60_000

/**
 * Texts of any length, read page by page while they are sent. Their number is limited: 60 logs of 7 MB for one viewer
 * took 350 MB, and every other request waited 4 s.
 */
export class Downloads {
  readonly #places: Places

  constructor(limits: PlaceLimits = LIMITS) {
    this.#places = new Places(limits, {
      what: 'downloads in progress',
      remedy: 'Wait until one has ended.',
      hasSettings: false,
    })
  }

  /** The name may contain letters, digits, dots and hyphens. */
  send(
    request: FastifyRequest,
    reply: FastifyReply,
    { type, name, parts }: { type: string; name: string; parts: AsyncIterable<string> },
  ): FastifyReply {
    const free = this.#places.take(request.caller!.id)
    finished(reply.raw, free)
    closeIfStalled(reply, STALLED_MS)
    return (
      reply
        .type(`${type}; charset=utf-8`)
        .header('content-disposition', `attachment; filename="${name}"`)
        // One part, not 16, waits for a client that reads slowly.
        .send(Readable.from(parts, { highWaterMark: 1 }))
    )
  }
}
