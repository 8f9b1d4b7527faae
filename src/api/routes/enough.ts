import type { FastifyReply } from 'fastify'
import { waitMs } from '../schemas/wait-time.js'

/**
 * Aborts when the time is up or the client has disconnected. With its own timer: Node 20 garbage-collects an
 * AbortSignal.timeout() that is referenced only by an AbortSignal.any(), and the response was never sent.
 */
export function enough(reply: FastifyReply, wait: string): AbortSignal {
  const ending = new AbortController()
  const timer = setTimeout(() => ending.abort(), waitMs(wait))
  reply.raw.once('close', () => {
    clearTimeout(timer)
    ending.abort()
  })
  return ending.signal
}
