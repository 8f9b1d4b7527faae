import type { FastifyReply, FastifyRequest } from 'fastify'

/** The canonical prefix. Links in responses always have it, whichever way the request was made. */
export const PREFIX = '/api/v1'

export const pipelineUrl = (id: string) => `${PREFIX}/pipelines/${id}`
export const runUrl = (id: string) => `${PREFIX}/runs/${id}`
export const statusUrl = (pipelineId: string) => `${PREFIX}/pipelines/${pipelineId}/status`

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
