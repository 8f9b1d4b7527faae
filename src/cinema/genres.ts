import type { Client } from 'pg'
import { CATALOGUE_OPENS } from './time.js'
import { idOfName, parseUuid, type Uuid, uuidText } from './uuid.js'

/** The genres of the cinema, shared by the sample and every generated set. */
const GENRES = {
  Action: 'Chases, fights and narrow escapes.',
  Adventure: 'Journeys to places worth the trouble.',
  Animation: 'Drawn, modelled or rendered, frame by frame.',
  Comedy: 'Meant to make people laugh, and mostly does.',
  Crime: 'Those who break the law and those who look for them.',
  Drama: 'People under pressure, and what it makes of them.',
  Fantasy: 'Worlds in which magic is a fact.',
  History: 'Events that happened, more or less like this.',
  Mystery: 'A question at the beginning, an answer near the end.',
  Romance: 'Two people and everything between them.',
  'Sci-Fi': 'What science might do to us, or we with it.',
  Thriller: 'Nobody in the room leans back.', // words:allow
  War: 'The front, and those who wait behind it.',
  Western: 'Dust, horses and unsettled scores.',
} as const

export interface GenreIds {
  ids: Record<string, Uuid>
  /** The number of genres that were added. */
  added: number
}

/** Adds missing genres and returns the ids of all; an existing genre keeps its id. */
export async function ensureGenres(client: Client): Promise<GenreIds> {
  const names = Object.keys(GENRES)
  const { rowCount } = await client.query(
    `INSERT INTO content.genre (id, name, description, created, modified)
     SELECT id, name, description, $4, $4
       FROM unnest($1::uuid[], $2::text[], $3::text[]) AS genre (id, name, description)
     ON CONFLICT DO NOTHING`,
    [
      names.map((name) => uuidText(idOfName('genre', name))),
      names,
      Object.values(GENRES),
      new Date(CATALOGUE_OPENS / 1000),
    ],
  )
  const { rows } = await client.query('SELECT name, id FROM content.genre WHERE name = ANY ($1)', [names])
  const known = new Map(rows.map(({ name, id }) => [name, parseUuid(id)]))
  // In our order: with the database's collation, a generated film might get another genre.
  const ids = names.map((name) => [name, known.get(name) ?? idOfName('genre', name)])
  return { ids: Object.fromEntries(ids), added: rowCount ?? 0 }
}
