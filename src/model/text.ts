import { z } from 'zod'

/** PostgreSQL stores neither NUL nor unpaired surrogates. */
const UNSTORABLE = /\0|\p{Surrogate}/u
const EVERY_UNSTORABLE = /\0|\p{Surrogate}/gu

/** Text that can be stored unchanged. */
export function text(least: number, most: number) {
  return z
    .string()
    .min(least, least === 1 ? 'must not be empty' : undefined)
    .max(most)
    .refine((value) => !UNSTORABLE.test(value), 'must contain neither NUL characters nor unpaired surrogates')
}

/** A text from outside as PostgreSQL stores it: what it refuses is replaced, as decoders do with invalid bytes. */
export function storable(value: string): string {
  return value.replace(EVERY_UNSTORABLE, '\ufffd')
}

/** Characters that change the direction of the text after them: it then looks different from what it is. */
const REORDERING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

export function reordersText(value: string): boolean {
  return REORDERING.test(value)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const UNPRINTABLE = /[\0-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** A text on one line, in which everything that could control a terminal or begin another line is visible. */
export function visibleLine(value: string): string {
  return value.replace(UNPRINTABLE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Zero-width, direction and filler characters: two names that look the same must be the same. */
const INVISIBLE =
  /\p{Cf}|\p{Zl}|\p{Zp}|\u034f|\u115f|\u1160|\u17b4|\u17b5|[\u180b-\u180f]|\u2800|\u3164|\uffa0|[\u{e0100}-\u{e01ef}]/u
/** Invisible too, except after an emoji, whose look they choose, and before a keycap. */
const STRAY_VARIATION = /(?<!\p{Extended_Pictographic})[\ufe00-\ufe0f](?!\u20e3)/u

/** The same as JSON Schema, where most validators do not support \p. */
const UNSEEN =
  '\\x00-\\x1f\\x7f-\\x9f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb'
const LINE_PATTERN = `^[^\\s${UNSEEN}]([^${UNSEEN}]*[^\\s${UNSEEN}])?$`

/** Text on one line, for names. */
export function line(most: number) {
  return text(1, most)
    .refine(
      (value) => !/\p{Cc}/u.test(value) && value === value.trim(),
      'must not contain control characters, nor begin or end with a space',
    )
    .refine(
      (value) => !INVISIBLE.test(value) && !STRAY_VARIATION.test(value),
      'must not contain invisible or bidirectional characters',
    )
    .meta({ pattern: LINE_PATTERN })
}
