import pc from 'picocolors'

type Colors = ReturnType<typeof pc.createColors>

const PAINT: Record<string, (colors: Colors) => (text: string) => string> = {
  debug: (colors) => colors.dim,
  info: (colors) => colors.green,
  warn: (colors) => colors.yellow,
  error: (colors) => colors.red,
}

/** `10:04:12.031 INFO  Batch 3 done. pipeline=film_dim rows=500`: one JSON line, formatted for people. */
export function prettyLine(json: string, colour: boolean): string {
  const colors = pc.createColors(colour)
  const {
    time,
    level,
    msg,
    service: _service,
    version: _version,
    ...fields
  } = JSON.parse(json) as Record<string, unknown>
  const clock = String(time).slice(11, 23)
  const word = String(level).toUpperCase().padEnd(5)
  const painted = PAINT[String(level)]?.(colors)(word) ?? word
  const pairs = Object.entries(fields).map(([name, value]) => colors.dim(`${name}=`) + show(value))
  return `${[colors.dim(clock), painted, plain(String(msg)), ...pairs].join(' ')}\n${stackOf(level, fields.err)}`
}

function show(value: unknown): string {
  const text = isError(value) ? value.message : typeof value === 'string' ? value : JSON.stringify(value)
  return /^[^\s"=]+$/.test(text) ? plain(text) : plain(JSON.stringify(text))
}

/** The stack of an unexpected error is the only clue. Errors of Vitrina have a code and a hint instead. */
function stackOf(level: unknown, err: unknown): string {
  if (level !== 'error' || !isError(err) || typeof err.stack !== 'string') return ''
  const lines = err.stack.split('\n').slice(1).map(plain)
  const cause = isError(err.cause) ? `caused by ${show(err.cause)}\n${stackOf(level, err.cause)}` : ''
  return `${lines.join('\n')}\n${cause}`
}

interface ShownError {
  readonly message: string
  /** Only of an unexpected error. */
  readonly stack?: string
  readonly cause?: unknown
}

function isError(value: unknown): value is ShownError {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { message?: unknown }).message === 'string'
  )
}

/** Control characters in data must not move the cursor of a terminal, fake a line or reorder one. */
function plain(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Bidi_Control}]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
