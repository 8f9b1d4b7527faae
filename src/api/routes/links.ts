import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Page } from '../../ports/catalog.js'

/** The canonical prefix. Links in responses always have it, whichever way the request was made. */
export const API_PREFIX = '/api/v1'

export const pipelineUrl = (id: string) => `${API_PREFIX}/pipelines/${id}`
export const runUrl = (id: string) => `${API_PREFIX}/runs/${id}`
export const statusUrl = (pipelineId: string) => `${API_PREFIX}/pipelines/${pipelineId}/status`

/** The version of a configuration, in the format of If-Match. */
export const etag = ({ configVersion }: { configVersion: number }) => `"${configVersion}"`

/** `Link: <…>; rel="next"`: the same request for the next page. */
export function linkNext(request: FastifyRequest, reply: FastifyReply, cursor: string | null): void {
  if (cursor === null) return
  // The host does not matter: only path and query are returned.
  const url = new URL(request.url, 'http://localhost')
  url.searchParams.set('cursor', cursor)
  reply.header('link', `<${url.pathname}${url.search}>; rel="next"`)
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** A page of a list, with the link to the next one. */
export function pageToWire<T, W>(page: Page<T>, toWire: (item: T) => W, { request, reply }: Exchange) {
  linkNext(request, reply, page.nextCursor)
  return { items: page.items.map((item) => toWire(item)), next_cursor: page.nextCursor }
}
