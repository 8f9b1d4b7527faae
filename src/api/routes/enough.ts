import type { FastifyReply } from 'fastify'
import { waitMs } from '../schemas/wait-time.js'

/** The time is up, or nobody is there any more who waits. */
export function enough(reply: FastifyReply, wait: string): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  return AbortSignal.any([AbortSignal.timeout(waitMs(wait)), gone.signal])
}
