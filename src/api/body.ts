import type { Api } from './schemas/type-provider.js'

/**
 * JSON, or nothing. Nothing is welcome under every content type: curl -d '' calls it a form, and schedulers send
 * "application/json" with no body at all. Neither is a reason to refuse a POST that needs none.
 */
export function readBodies(app: Api): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined)
    else void parseJson(request, body as string, done)
  })
  app.addContentTypeParser('*', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined)
    else done(unsupported(request.headers['content-type'] ?? 'none'))
  })
}

function unsupported(type: string): Error {
  return Object.assign(new Error(`The content type "${type}" is not supported.`), { statusCode: 415 })
}
