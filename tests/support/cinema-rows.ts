import pg from 'pg'
import type { TestDatabase } from './database.js'

export type CinemaValue = string | readonly string[] | null
export type CinemaRow = Readonly<Record<string, CinemaValue>>
type Text = Readonly<Record<string, string>>

/** Every row of the sources, each value as PostgreSQL writes it. NULL is typed as text; few columns can be NULL. */
export interface CinemaRows {
  readonly films: readonly Text[]
  readonly genres: readonly Text[]
  readonly people: readonly Text[]
  readonly filmGenres: readonly Text[]
  readonly filmPeople: readonly Text[]
  readonly ratings: readonly Text[]
  readonly reviews: readonly Text[]
  readonly likes: readonly Text[]
  readonly views: readonly Text[]
}

const TABLES: Readonly<Record<keyof CinemaRows, string>> = {
  films: 'content.film_work',
  genres: 'content.genre',
  people: 'content.person',
  filmGenres: 'content.genre_film_work',
  filmPeople: 'content.person_film_work',
  ratings: 'ugc.ratings',
  reviews: 'ugc.reviews',
  likes: 'ugc.likes',
  views: 'ugc.views',
}

/** Complete plain tables: what is derived from them is computed in TypeScript. */
export async function readCinemaRows(database: TestDatabase): Promise<CinemaRows> {
  const rows: Partial<Record<keyof CinemaRows, CinemaRow[]>> = {}
  for (const [name, table] of Object.entries(TABLES))
    rows[name as keyof CinemaRows] = await readTexts(database, table)
  return rows as unknown as CinemaRows
}

const TEXT_ARRAY = 1009
/** Texts, because a JavaScript date drops microseconds and a number drops digits. Lists of texts are lists. */
const AS_TEXT = {
  getTypeParser: (oid: number) =>
    oid === TEXT_ARRAY ? pg.types.getTypeParser(oid as never) : (text: string) => text,
} as pg.CustomTypesConfig

export async function readTexts(database: TestDatabase, table: string): Promise<CinemaRow[]> {
  const client = await database.client()
  try {
    await client.query("SET TimeZone = 'UTC'")
    return (await client.query({ text: `SELECT * FROM ${table}`, types: AS_TEXT })).rows
  } finally {
    await client.end()
  }
}

/** Lists by the value of a column. */
export function groupBy<T>(rows: readonly T[], key: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const row of rows) {
    const group = groups.get(key(row))
    if (group === undefined) groups.set(key(row), [row])
    else group.push(row)
  }
  return groups
}

/** Times of one time zone, as PostgreSQL writes them, sort as texts: '+' comes before '.' and before digits. */
export function latest(times: readonly string[]): string | null {
  return [...times].sort().at(-1) ?? null
}

export function earliest(times: readonly string[]): string | null {
  return [...times].sort()[0] ?? null
}

/** Microseconds since 1970 of `2025-12-31 22:24:31.501232+00` or `…T…Z`. */
export function micros(time: string): bigint {
  const [, day = '', clock = '', part = ''] = /^([\d-]+)[ T]([\d:]+)(?:\.(\d+))?(?:\+00|Z)$/.exec(time) ?? []
  return BigInt(Date.parse(`${day}T${clock}Z`)) * 1000n + BigInt(part.padEnd(6, '0'))
}
