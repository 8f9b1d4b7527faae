import { cutText } from '../model/cut-text.js'
import { VitrinaError } from '../model/errors.js'
import { storable } from '../model/text.js'

/** Fields that must never appear in a log, by name. */
const SECRET_NAME = /passw(or)?d|pwd|passphrase|secret|token|authorization|cookie|api_?key|credential/i
const HIDDEN = '***'
/** Deeper than anything we log; it also ends a circular structure. */
const MAX_DEPTH = 6
/** More entries of one list add no information. */
const MAX_ITEMS = 100
/**
 * A message may quote a value of any size: one log line had 14 MB. Cut before redaction, so that it is cheap, and
 * again after it, so that a secret that the second cut would split is hidden as a whole.
 */
const MOST_BEFORE = 16_384
/** The limit of etl_runs.error. */
const MOST_AFTER = 4_000

/** A value: in quotes, possibly escaped ones, or up to the end of a URL part or a word. */
const VALUE = String.raw`(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^&\s"']+)`

/**
 * Each takes time in proportion to the text, for any text: parts that could overlap are bounded or begin with a
 * distinct word (tests/security/expressions.test.ts).
 */
export const SECRETS: readonly (readonly [RegExp, string])[] = [
  // password=…, PGPASSWORD='…', ?sslpassword=…, "api_key": "…", access-token=…
  [
    new RegExp(
      String.raw`((?:passw(?:or)?d|pwd|passphrase|secret|token|(?:api|access|account)[._-]?key|credentials?)[\w.-]{0,32}(?:\s{0,4}=|\\?["']\s{0,4}[:=])\s{0,4}\\?)${VALUE}`,
      'gi',
    ),
    `$1${HIDDEN}`,
  ],
  // password: …, X-Api-Key: …; not token: …, which is how parsers begin their error messages.
  [
    new RegExp(
      String.raw`((?:passw(?:or)?d|passphrase|(?:api|access|account)[._-]?key|secret)[\w.-]{0,32}:\s{0,4})(?!\*\*\*)${VALUE}`,
      'gi',
    ),
    `$1${HIDDEN}`,
  ],
  // ALTER ROLE … PASSWORD '…'
  [/(\bpassword\s{1,4})'(?:[^'\\]|''|\\.)*'?/gi, `$1'${HIDDEN}'`],
  [/\b(Bearer|Basic|ApiKey|Digest|Negotiate)\s{1,20}(?!token\b)[\w.~+/=-]+/gi, `$1 ${HIDDEN}`],
  [
    new RegExp(
      String.raw`(\bauthorization\\?["']?\s{0,4}[:=]\s{0,4}\\?)(?!["']?(?:Bearer|Basic|ApiKey|Digest|Negotiate)\b)${VALUE}`,
      'gi',
    ),
    `$1${HIDDEN}`,
  ],
  // All of them: a session is one of several.
  [/(\b(?:set-)?cookie\\?["']\s{0,4}[:=]\s{0,4}\\?)"(?:[^"\\]|\\.)*"?/gi, `$1"${HIDDEN}"`],
  [/(\b(?:set-)?cookie\s{0,4}[:=]\s{0,4})[^\r\n]+/gi, `$1${HIDDEN}`],
  [/\bvitrina_session\w{0,20}=[^\s;]+/gi, `vitrina_session=${HIDDEN}`],
  // A token of Vitrina, or the secret of a webhook, anywhere.
  [/\bvtr_[\w-]{8,}/g, `vtr_${HIDDEN}`],
  [/\bwhsec_[\w+/=-]{8,}/g, `whsec_${HIDDEN}`],
  // Addresses that are secrets: of Slack, of bots of Telegram, and signed ones.
  [/(\bhooks\.slack\.com\/(?:services|workflows|triggers)\/)[^\s"'<>]+/gi, `$1${HIDDEN}`],
  [/(\/bot\d{1,20}:)[\w-]+/g, `$1${HIDDEN}`],
  [/([?&](?:x-amz-signature|signature|sig)=)[^&\s"'<>]+/gi, `$1${HIDDEN}`],
  [/(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*)?/g, HIDDEN],
  [
    /(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
    `$1${HIDDEN}`,
  ],
]

/**
 * Hides what looks like a secret inside a sentence, and shortens the sentence: drivers quote whole connection URLs. What
 * PostgreSQL cannot store is replaced: one NUL in an exception kept its run from ever ending.
 */
export function redactText(text: string): string {
  const hidden = SECRETS.reduce(
    (sofar, [pattern, instead]) => sofar.replace(pattern, instead),
    cutText(text, MOST_BEFORE).replace(/\S+/g, hideUrl),
  )
  return storable(cutText(hidden, MOST_AFTER))
}

/** A password with an unescaped @ must not leave its tail behind, so everything up to the last @ is removed. */
function hideUrl(word: string): string {
  const end = word.lastIndexOf('@')
  for (let at = word.indexOf('://'); at >= 0 && at < end; at = word.indexOf('://', at + 3)) {
    // The name ends at the first of these. Each is searched once: the next address starts after it.
    const stop = indexOfAny(word, ':@/', at + 3)
    if (word[stop] === ':' && stop < end) return `${word.slice(0, stop + 1)}${HIDDEN}${word.slice(end)}`
  }
  return word
}

function indexOfAny(text: string, characters: string, from: number): number {
  let at = from
  while (at < text.length && !characters.includes(text[at]!)) at += 1
  return at
}

/** A copy that is safe to log: secrets hidden, errors as plain objects. */
export function redactFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return redactEntries(Object.entries(fields), 0)
}

function redactEntries(entries: [string, unknown][], depth: number): Record<string, unknown> {
  const hide = (name: string, value: unknown) =>
    SECRET_NAME.test(name) && value !== null && value !== undefined
  return Object.fromEntries(
    entries
      .slice(0, MAX_ITEMS)
      .map(([name, value]) => [name, hide(name, value) ? HIDDEN : redactValue(value, depth)]),
  )
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === MAX_DEPTH) return '…'
  if (value instanceof Error) return redactEntries(describe(value), depth + 1)
  if (value instanceof Date) return value
  if (Array.isArray(value)) return redactItems(value, depth)
  return redactEntries(Object.entries(value), depth + 1)
}

function redactItems(items: readonly unknown[], depth: number): unknown[] {
  const shown = items.slice(0, MAX_ITEMS).map((item) => redactValue(item, depth + 1))
  return items.length > MAX_ITEMS ? [...shown, `… ${items.length - MAX_ITEMS} more`] : shown
}

/** Selected fields only: `detail` of a PostgreSQL error quotes the values of rows. */
function describe(error: Error): [string, unknown][] {
  const { code, sqlstate, cause } = error as { code?: unknown; sqlstate?: unknown; cause?: unknown }
  const isKnown = error instanceof VitrinaError && error.code !== 'INTERNAL'
  const parts = {
    type: error.name,
    message: error.message,
    code,
    sqlstate: sqlstate ?? undefined,
    // A database that is restarting is reported every second: its code and hint say more than where it was noticed.
    stack: isKnown ? undefined : error.stack,
    cause: isKnown && cause instanceof Error ? withoutStack(cause) : cause,
  }
  return Object.entries(parts).filter(([, value]) => value !== undefined)
}

function withoutStack(error: Error): Readonly<Record<string, unknown>> {
  const { stack: _stack, ...parts } = Object.fromEntries(describe(error))
  return parts
}
