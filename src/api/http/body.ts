import type { Api } from '../schemas/type-provider.js'

/**
 * JSON or an empty body. An empty body is accepted with every content type: curl -d '' sends a form type, and
 * schedulers send "application/json" without a body. Neither is a reason to reject a POST that needs none.
 */
export function readBodies(app: Api): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const text = readText(body as Buffer)
    if (text === '') done(null, undefined)
    else if (text === null) done(notUtf8())
    else {
      const refused = refusalOf(text)
      if (refused !== null) done(refused)
      else
        void parseJson(request, text, (error, value) => done(error === null ? null : unreadable(text), value))
    }
  })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    if (body.length === 0) done(null, undefined)
    else done(unsupported())
  })
}

/** Null if it is not UTF-8: read as a string, invalid bytes became U+FFFD silently and were saved that way. */
function readText(body: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return null
  }
}

/** Deeper than any valid body. What JSON.parse accepts may still overflow the stack of code that walks it. */
const MAX_DEPTH = 32
/** More than a thousand pipelines have together. Each unknown field costs a message, and 16 MiB have room for millions. */
const MAX_VALUES = 200_000

/** Why a body is rejected before its fields are read: it would cost too much. Null: it is accepted. */
function refusalOf(json: string): Error | null {
  let depth = 0
  let values = 0
  let inString = false
  for (let at = 0; at < json.length; at++) {
    const char = json.charCodeAt(at)
    if (inString) {
      if (char === BACKSLASH) at++
      else if (char === QUOTE) inString = false
    } else if (char === QUOTE) inString = true
    else if (char === COMMA && ++values > MAX_VALUES) return tooMany()
    else if ((char === BRACKET || char === BRACE) && ++depth > MAX_DEPTH) return tooDeep()
    else if (char === BRACKET + 2 || char === BRACE + 2) depth--
  }
  return null
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
/** The closing ones are two characters later. */
const BRACKET = 0x5b
const BRACE = 0x7b

function tooDeep(): Error {
  return refusal(422, `The body is nested deeper than ${MAX_DEPTH} levels.`)
}

function tooMany(): Error {
  return refusal(422, `The body has more than ${MAX_VALUES} values.`)
}

function notUtf8(): Error {
  return refusal(400, 'The body is not UTF-8.')
}

/** Without the header: input from an unknown caller is not repeated. */
function unsupported(): Error {
  return refusal(415, 'The content type of the body is not supported.')
}

/** Invalid JSON, or JSON with a name that could change the prototype of objects. */
function unreadable(text: string): Error {
  try {
    JSON.parse(text)
    return refusal(400, 'The body has a field named "__proto__" or "constructor", which is not allowed.')
  } catch (error) {
    // Only the position: the rest of the message quotes the body, which may contain a secret.
    const place = /at position (\d+)/.exec((error as Error).message)?.[1]
    return refusal(
      400,
      place === undefined
        ? 'The body is not valid JSON.'
        : `The body is not valid JSON: see character ${place}.`,
    )
  }
}

function refusal(statusCode: number, sentence: string): Error {
  return Object.assign(new Error(sentence), { statusCode })
}
