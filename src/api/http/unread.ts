import { Socket } from 'node:net'
import { finished } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { VitrinaError } from '../../model/errors.js'
import { addressGroup, clientAddress } from '../auth/client-address.js'
import type { Api } from '../schemas/type-provider.js'

export interface UnreadLimits {
  /** Bytes of responses that one caller may leave unread; a single response may be larger. */
  readonly bytes: number
  /** How long a client may read nothing before its connection is closed. */
  readonly stalledMs: number
}

/** The largest response, the OpenLineage events of 10,000 pipelines, has 20 MB. */
const LIMITS: UnreadLimits = { bytes: 32 * 1024 * 1024, stalledMs: 60_000 }
/** Connections need as much, whatever they wait for. */
const SMALL_BYTES = 16 * 1024
const RETRY_AFTER_SECONDS = 10

/**
 * A response stays in memory until the client has read it: 200 connections that requested the log of a run and read
 * nothing took 2 GB. Streams read slowly themselves and are limited elsewhere.
 */
export function limitUnread(app: Api, { bytes, stalledMs }: UnreadLimits = LIMITS): void {
  const unread = new Map<string, number>()
  app.addHook('onSend', async (request, reply, payload) => {
    const content = typeof payload === 'string' ? Buffer.from(payload) : payload
    if (!Buffer.isBuffer(content) || content.length < SMALL_BYTES) return payload
    const caller = callerOf(request)
    const before = unread.get(caller) ?? 0
    if (before > 0 && before + content.length > bytes) {
      reply.removeHeader('content-encoding').removeHeader('content-length')
      throw tooMany(before)
    }
    unread.set(caller, before + content.length)
    finished(reply.raw, () => {
      const left = unread.get(caller)! - content.length
      if (left === 0) unread.delete(caller)
      else unread.set(caller, left)
    })
    closeIfStalled(reply, stalledMs)
    return content
  })
}

/** Node closes a connection if nothing listens to its timeout, and waits again whenever the client has read something. */
export function closeIfStalled({ raw, request }: FastifyReply, ms: number): void {
  if (request.raw.socket instanceof Socket) raw.setTimeout(ms)
}

function callerOf(request: FastifyRequest): string {
  return request.caller?.id ?? addressGroup(clientAddress(request))
}

function tooMany(unread: number): VitrinaError {
  return new VitrinaError(
    'TOO_MANY_STREAMS',
    `This caller has not read ${Math.ceil(unread / 1024 / 1024)} MiB of earlier responses.`,
    'Read the responses, or close their connections.',
    { facts: { retry_after_seconds: RETRY_AFTER_SECONDS } },
  )
}
