import type { FastifyReply, FastifyRequest } from 'fastify'

/** The canonical prefix. Links that we give out always carry it, however the request came. */
export const PREFIX = '/api/v1'

export const pipelineUrl = (id: string) => `${PREFIX}/pipelines/${id}`
export const runUrl = (id: string) => `${PREFIX}/runs/${id}`
export const statusUrl = (pipelineId: string) => `${PREFIX}/pipelines/${pipelineId}/status`

/** The version of a configuration, as If-Match takes it. */
export const etag = ({ configVersion }: { configVersion: number }) => `"${configVersion}"`

/** `Link: <…>; rel="next"`: the same question, one page on. */
export function linkNext(request: FastifyRequest, reply: FastifyReply, cursor: string | null): void {
  if (cursor === null) return
  // The host does not matter: only path and query are given back.
  const url = new URL(request.url, 'http://localhost')
  url.searchParams.set('cursor', cursor)
  reply.header('link', `<${url.pathname}${url.search}>; rel="next"`)
}
