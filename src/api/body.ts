import type { Api } from './schemas/type-provider.js'

/**
 * JSON, or nothing. Nothing is welcome under every content type: curl -d '' calls it a form, and schedulers send
 * "application/json" with no body at all. Neither is a reason to refuse a POST that needs none.
 */
export function readBodies(app: Api): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const text = readText(body as Buffer)
    if (text === '') done(null, undefined)
    else if (text === null) done(notUtf8())
    else if (isTooDeep(text)) done(tooDeep())
    else
      void parseJson(request, text, (error, value) => done(error === null ? null : unreadable(text), value))
  })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    if (body.length === 0) done(null, undefined)
    else done(unsupported())
  })
}

/** Null when it is not UTF-8: read as a string, wrong bytes became U+FFFD without a word, and were saved so. */
function readText(body: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return null
  }
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
  return refusal(422, `The body is nested deeper than ${MAX_DEPTH} levels.`)
}

function notUtf8(): Error {
  return refusal(400, 'The body is not UTF-8.')
}

/** Without the header: what a stranger sent is not repeated to anyone. */
function unsupported(): Error {
  return refusal(415, 'The content type of the body is not supported.')
}

/** No JSON, or JSON with a name that could change what every object of a program has. */
function unreadable(text: string): Error {
  try {
    JSON.parse(text)
    return refusal(400, 'The body has a field called "__proto__" or "constructor", which nobody needs.')
  } catch (error) {
    // Only the place: the rest of the message repeats what was sent, and that may be a secret.
    const place = /at position (\d+)/.exec((error as Error).message)?.[1]
    return refusal(
      400,
      place === undefined ? 'The body is not JSON.' : `The body is not JSON: see its character ${place}.`,
    )
  }
}

function refusal(statusCode: number, sentence: string): Error {
  return Object.assign(new Error(sentence), { statusCode })
}
