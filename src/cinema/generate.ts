import type { Client } from 'pg'
import { VitrinaError } from '../model/errors.js'
import { type AudienceSize, audience } from './audience.js'
import { CREW, catalogue, generatedFilms } from './catalogue.js'
import { ensureGenres } from './genres.js'
import { analyzeCinema, inOneLoad, type LoadOptions, loadCinema, type TableRows } from './load.js'
import { createCinemaSchema, TABLE_NAMES, type TableCounts } from './schema.js'
import { type Uuid, uuidText } from './uuid.js'

/** Values that are not given are derived from the number of films and ratings. */
export interface GenerateOptions extends Partial<AudienceSize> {
  films: number
  ratings: number
  /** The same seed and sizes give the same rows, ids and times included. */
  seed: number
  persons?: number
  /** Empties the cinema's tables first. */
  replace?: boolean
  signal?: AbortSignal
}

type Sizes = AudienceSize & { films: number; persons: number; seed: number }

/**
 * Adds a generated set of any size in one transaction, and returns how many rows it added.
 * Memory does not grow with the ratings: rows are generated while PostgreSQL receives them.
 */
export async function generate(
  client: Client,
  options: GenerateOptions,
  onProgress?: LoadOptions['onProgress'],
): Promise<TableCounts> {
  const sizes = sizesOf(options)
  await createCinemaSchema(client)
  const counts = await inOneLoad(client, async () => {
    if (options.replace) await client.query(`TRUNCATE ${TABLE_NAMES.join(', ')}`)
    await refuseRepetition(client, sizes.seed)
    const genres = await ensureGenres(client)
    const sets = generateCinema(sizes, Object.values(genres.ids))
    const added = await loadCinema(client, sets, { onProgress, signal: options.signal })
    return { ...added, 'content.genre': genres.added }
  })
  await analyzeCinema(client)
  return counts
}

/** The rows of a generated set, table by table, generated on demand. */
function generateCinema({ films, persons, seed, ...size }: Sizes, genres: readonly Uuid[]): TableRows[] {
  const made = generatedFilms(films, seed)
  return [
    ...catalogue(made, { films, persons, genres }, seed),
    ...audience(made, size, { seed, tag: `.${seed.toString(36)}` }),
  ]
}

function sizesOf(options: GenerateOptions): Sizes {
  const { films, ratings, seed } = options
  // Twenty ratings per user, and never more than half of all pairs, or every film would have the same viewers.
  const users = options.users ?? Math.max(50, Math.ceil(ratings / 20), Math.ceil((2 * ratings) / films))
  const pairs = films * users
  const sizes = {
    films,
    ratings,
    seed,
    users,
    persons: options.persons ?? Math.ceil(films * 0.8) + 20,
    reviews: options.reviews ?? Math.min(pairs, Math.ceil(ratings / 20)),
    likes: options.likes ?? Math.min(pairs, Math.ceil(ratings / 5)),
    views: options.views ?? Math.min(pairs, Math.ceil(ratings / 2)),
  }
  refuseImpossible(sizes)
  return sizes
}

/** Ids are unique for 2³² rows of a kind; a film uses up CREW of them. */
const MOST_ROWS = 2 ** 32

function refuseImpossible(sizes: Sizes): void {
  const least: Partial<Sizes> = { films: 1, users: 1, persons: CREW + 1 }
  const most: Partial<Sizes> = { films: MOST_ROWS / CREW, seed: Number.MAX_SAFE_INTEGER }
  for (const [name, value] of Object.entries(sizes) as [keyof Sizes, number][]) {
    const [from, to] = [least[name] ?? 0, most[name] ?? MOST_ROWS]
    if (!Number.isSafeInteger(value) || value < from || value > to)
      throw refusal(`${name} is ${value}`, `Use a whole number from ${from} to ${to}.`)
  }
  for (const name of ['ratings', 'reviews', 'likes', 'views'] as const)
    if (sizes[name] > sizes.films * sizes.users)
      throw refusal(
        `${sizes.films} films and ${sizes.users} users cannot make ${sizes[name]} ${name}, one for each pair`,
        'Increase the number of films or users.',
      )
}

async function refuseRepetition(client: Client, seed: number): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM content.film_work WHERE id = $1', [
    uuidText(generatedFilms(1, seed).id(0)),
  ])
  if (rowCount !== 0)
    throw refusal(
      `The films generated from seed ${seed} are already in content.film_work`,
      'Choose another seed to add more rows, or replace the existing ones.',
    )
}

function refusal(detail: string, hint: string): VitrinaError {
  return new VitrinaError('REQUEST_INVALID', detail, hint)
}
