import { readFile } from 'node:fs/promises'
import type { Client } from 'pg'

/** The cinema's tables and the columns that are loaded, in an order that suits the foreign keys. */
export const CINEMA_TABLES = {
  'content.film_work': columns('id title description creation_date rating type created modified'),
  'content.genre': columns('id name description created modified'),
  'content.person': columns('id full_name created modified'),
  'content.genre_film_work': columns('id film_work_id genre_id created'),
  'content.person_film_work': columns('id film_work_id person_id role created'),
  'auth.users': columns('id login email full_name country created modified'),
  'ugc.ratings': columns('id film_id user_id rating created modified'),
  'ugc.reviews': columns('id film_id user_id text sentiment created modified'),
  'ugc.likes': columns('id film_id user_id value created modified'),
  'ugc.views': columns(
    'id film_id user_id progress_seconds duration_seconds finished started_at created modified',
  ),
}

export type CinemaTable = keyof typeof CINEMA_TABLES
export type TableCounts = Record<CinemaTable, number>

export const TABLE_NAMES = Object.keys(CINEMA_TABLES) as CinemaTable[]

/** Creates what is missing in the schemas content, ugc and auth. Safe before every start, changes no row. */
export async function createCinemaSchema(client: Client): Promise<void> {
  await client.query(await readFile(new URL('./schema.sql', import.meta.url), 'utf8'))
}

/** The current number of rows. */
export async function countRows(client: Client): Promise<TableCounts> {
  const counts = TABLE_NAMES.map((table) => `(SELECT count(*)::float8 FROM ${table}) AS "${table}"`)
  const { rows } = await client.query(`SELECT ${counts.join(', ')}`)
  return rows[0]
}

function columns(names: string): string[] {
  return names.split(' ')
}
