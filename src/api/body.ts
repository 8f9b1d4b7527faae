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
    else if (isTooDeep(body as string)) done(tooDeep())
    else void parseJson(request, body as string, done)
  })
  app.addContentTypeParser('*', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined)
    else done(unsupported(request.headers['content-type'] ?? 'none'))
  })
}

/** Deeper than anything we take. What JSON.parse reads without trouble may still overflow the stack of whoever walks it. */
const MAX_DEPTH = 32

function isTooDeep(json: string): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < json.length; at++) {
    const char = json.charCodeAt(at)
    if (inString) {
      if (char === BACKSLASH) at++
      else if (char === QUOTE) inString = false
    } else if (char === QUOTE) inString = true
    else if ((char === BRACKET || char === BRACE) && ++depth > MAX_DEPTH) return true
    else if (char === BRACKET + 2 || char === BRACE + 2) depth--
  }
  return false
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** The closing ones are two further. */
const BRACKET = 0x5b
const BRACE = 0x7b

function tooDeep(): Error {
  return Object.assign(new Error(`The body is nested deeper than ${MAX_DEPTH} levels.`), { statusCode: 422 })
}

function unsupported(type: string): Error {
  return Object.assign(new Error(`The content type "${type}" is not supported.`), { statusCode: 415 })
}
