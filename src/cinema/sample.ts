import type { Client } from 'pg'
import { audience, type Films } from './audience.js'
import type { CopyWriter } from './copy-writer.js'
import records from './films.json' with { type: 'json' }
import { ensureGenres } from './genres.js'
import { analyzeCinema, inOneLoad, isEmpty, loadCinema, type TableRows } from './load.js'
import { Random } from './random.js'
import { type CinemaTable, countRows, createCinemaSchema, type TableCounts } from './schema.js'
import { CATALOGUE_OPENS, EPOCH, SIGN_UP_OPENS } from './time.js'
import { idOfName, type Uuid } from './uuid.js'

type Film = (typeof records)[number]
type Credit = { film: Film; role: string; name: string }

/** Negative, so that generated sets, whose seeds are not, never share an id with the sample. */
const SAMPLE_SEED = -1977
const AUDIENCE = { users: 200, ratings: 4000, reviews: 400, likes: 1500, views: 5000 }
const CREDIT_ROLES = { director: 'directors', writer: 'writers', actor: 'actors' } as const

/** Best known first: for such old and popular films the rating is a good approximation. */
const films: Film[] = [...records].sort((a, b) => b.rating - a.rating)

/**
 * Loads real films with a generated audience in one transaction. A cinema that has films is left unchanged,
 * so it can be called before every start. Returns the number of rows afterwards.
 */
export async function loadSample(client: Client): Promise<TableCounts> {
  await createCinemaSchema(client)
  const loaded = await inOneLoad(client, async () => {
    if (!(await isEmpty(client, 'content.film_work'))) return false
    const { ids } = await ensureGenres(client)
    await loadCinema(client, [...sampleCatalogue(ids), ...sampleAudience()])
    return true
  })
  if (loaded) await analyzeCinema(client)
  return countRows(client)
}

function sampleCatalogue(genreIds: Record<string, Uuid>): TableRows[] {
  const shelved = films.flatMap((film) => film.genres.map((genre) => ({ film, genre })))
  const credits = films.flatMap(creditsOf)
  const names = [...new Set(credits.map(({ name }) => name))]
  return [
    rows('content.film_work', films, writeFilm),
    rows('content.person', names, (to, name) =>
      to.uuid(idOfName('person', name)).text(name).timestamp(CATALOGUE_OPENS).timestamp(CATALOGUE_OPENS),
    ),
    rows('content.genre_film_work', shelved, (to, { film, genre }) =>
      to.uuid(linkId(film, genre)).uuid(filmId(film)).uuid(genreIds[genre]!).timestamp(CATALOGUE_OPENS),
    ),
    rows('content.person_film_work', credits, writeCredit),
  ]
}

function sampleAudience(): TableRows[] {
  const ids = films.map(filmId)
  const seen: Films = { count: films.length, id: (n) => ids[n]!, quality: (n) => films[n]!.rating }
  return audience(seen, AUDIENCE, { seed: SAMPLE_SEED, tag: '' })
}

function writeFilm(to: CopyWriter, film: Film, n: number): void {
  const random = new Random(SAMPLE_SEED, 'film').at(n)
  const created = CATALOGUE_OPENS + random.below(SIGN_UP_OPENS - CATALOGUE_OPENS)
  to.uuid(filmId(film)).text(film.title).text(film.description).date(film.released)
  to.rating(film.rating).text(film.type)
  to.timestamp(created).timestamp(created + random.below(EPOCH - created))
}

function writeCredit(to: CopyWriter, { film, role, name }: Credit): void {
  to.uuid(linkId(film, `${role}:${name}`))
    .uuid(filmId(film))
    .uuid(idOfName('person', name))
  to.text(role).timestamp(CATALOGUE_OPENS)
}

/** People and their roles, in the order of the titles. */
function creditsOf(film: Film): Credit[] {
  return Object.entries(CREDIT_ROLES).flatMap(([role, list]) =>
    film[list].map((name) => ({ film, role, name })),
  )
}

/** Title and date, because a remake has the title of the original. */
function filmId({ title, released }: Film): Uuid {
  return idOfName('film', `${title}:${released}`)
}

function linkId(film: Film, to: string): Uuid {
  return idOfName('link', `${film.title}:${film.released}:${to}`)
}

function rows<T>(
  table: CinemaTable,
  from: T[],
  write: (to: CopyWriter, item: T, n: number) => void,
): TableRows {
  return { table, items: from.length, write: (n, to) => write(to.row(), from[n]!, n) }
}
