import type { FastifyReply } from 'fastify'
import { waitMs } from '../schemas/wait-time.js'

/**
 * The time is up, or nobody is there any more who waits. With a timer of its own: Node 20 loses an
 * AbortSignal.timeout() that only an AbortSignal.any() knows of to the garbage collector, and the answer never came.
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
