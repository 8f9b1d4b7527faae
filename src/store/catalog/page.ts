import { VitrinaError } from '../../model/errors.js'
import type { Page } from '../../ports/catalog.js'

/** Of `limit + 1` items, the first `limit`; the cursor contains the order columns of the last one. */
export function pageOf<T>(items: T[], limit: number, keys: (item: T) => (string | number)[]): Page<T> {
  return items.length > limit ? pageBefore(items.slice(0, limit), keys) : { items, nextCursor: null }
}

/** Items that others follow. */
export function pageBefore<T>(items: T[], keys: (item: T) => (string | number)[]): Page<T> {
  const last = items.at(-1)
  return {
    items,
    nextCursor:
      last === undefined ? null : Buffer.from(JSON.stringify(keys(last).map(String))).toString('base64url'),
  }
}

export function readCursor(cursor: string, length: number): string[] {
  try {
    const keys: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    if (Array.isArray(keys) && keys.length === length && keys.every((key) => typeof key === 'string'))
      return keys
  } catch {
    // Falls through to the error below: invalid JSON was not created by this server either.
  }
  throw new VitrinaError(
    'REQUEST_INVALID',
    'The cursor was not created by this server.',
    'Use next_cursor of the last response, unchanged.',
  )
}

/** For lists ordered by one number. */
export function readNumberCursor(cursor: string | undefined): string | null {
  return cursor === undefined ? null : (readCursor(cursor, 1)[0] ?? null)
}
