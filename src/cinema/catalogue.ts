import type { Films } from './audience.js'
import type { CopyWriter } from './copy-writer.js'
import type { TableRows } from './load.js'
import { Random } from './random.js'
import { CATALOGUE_OPENS, EPOCH, SIGN_UP_OPENS } from './time.js'
import { idsOf, type Uuid } from './uuid.js'
import { ADJECTIVES, FIRST_NAMES, LAST_NAMES, NOUNS, PLACES, PREMISES } from './words.js'

/** Maximum number of people in a generated film, so its links have the numbers 8 × film … 8 × film + 7. */
export const CREW = 8

export interface CatalogueSize {
  films: number
  persons: number
  /** Ids of the genres in the database. */
  genres: readonly Uuid[]
}

/** Generated films, as the audience sees them. */
export function generatedFilms(count: number, seed: number): Films {
  const random = new Random(seed, 'film.quality')
  return { count, id: idsOf(seed, 'film'), quality: (film) => 6.3 + random.at(film).bell() * 3.2 }
}

/** Generated films, people and their roles. */
export function catalogue(films: Films, size: CatalogueSize, seed: number): TableRows[] {
  return [
    filmWorks(films, seed),
    persons(size.persons, seed),
    genreLinks(films, size.genres, seed),
    crews(films, size.persons, seed),
  ]
}

function filmWorks(films: Films, seed: number): TableRows {
  const random = new Random(seed, 'film')
  const write = (n: number, to: CopyWriter) => {
    to.row()
      .uuid(films.id(n))
      .text(titleOf(random.at(n)))
    // Some films lack a value: marts must handle NULL.
    to.text(random.chance(0.95) ? `The ${random.pick(NOUNS).toLowerCase()} ${random.pick(PREMISES)}` : null)
    to.date(random.chance(0.98) ? randomDate(random) : null)
    to.rating(random.chance(0.97) ? films.quality(n) : null)
    to.text(random.chance(0.15) ? 'tv_show' : 'movie')
    const created = enteredAt(random)
    to.timestamp(created).timestamp(created + random.below(EPOCH - created))
  }
  return { table: 'content.film_work', items: films.count, write }
}

function titleOf(random: Random): string {
  const noun = random.pick(NOUNS)
  const sequel = random.chance(0.1) ? ` ${2 + random.below(4)}` : ''
  const shapes = [
    `The ${random.pick(ADJECTIVES)} ${noun}`,
    `${noun} of ${random.pick(PLACES)}`,
    `${random.pick(FIRST_NAMES)}'s ${noun}`,
    `${random.pick(ADJECTIVES)} ${noun}`,
    `Last ${noun} to ${random.pick(PLACES)}`,
  ]
  return random.pick(shapes) + sequel
}

/** More new films than old ones. */
function randomDate(random: Random): string {
  const daysAgo = Math.floor(random.next() ** 2 * 30_000)
  return new Date(EPOCH / 1000 - daysAgo * 86_400_000).toISOString().slice(0, 10)
}

function enteredAt(random: Random): number {
  return CATALOGUE_OPENS + random.below(SIGN_UP_OPENS - CATALOGUE_OPENS)
}

function persons(count: number, seed: number): TableRows {
  const id = idsOf(seed, 'person')
  const random = new Random(seed, 'person')
  const write = (n: number, to: CopyWriter) => {
    const created = enteredAt(random.at(n))
    to.row()
      .uuid(id(n))
      .text(`${random.pick(FIRST_NAMES)} ${random.pick(LAST_NAMES)}`)
    to.timestamp(created).timestamp(created)
  }
  return { table: 'content.person', items: count, write }
}

/** One to three genres. A fixed step through the list never hits the same genre twice, as 2 × 4 < 14. */
function genreLinks(films: Films, genres: readonly Uuid[], seed: number): TableRows {
  const id = idsOf(seed, 'genre_film_work')
  const random = new Random(seed, 'genre_film_work')
  const write = (n: number, to: CopyWriter) => {
    const count = 1 + random.at(n).below(3)
    const [first, step, created] = [random.below(genres.length), 1 + random.below(4), enteredAt(random)]
    for (let i = 0; i < count; i++) {
      const genre = genres[(first + i * step) % genres.length]!
      to.row()
        .uuid(id(n * CREW + i))
        .uuid(films.id(n))
        .uuid(genre)
        .timestamp(created)
    }
  }
  return { table: 'content.genre_film_work', items: films.count, write }
}

/** Three to eight people: a director, a writer or two, and actors. Few people have many films. */
function crews(films: Films, people: number, seed: number): TableRows {
  const id = idsOf(seed, 'person_film_work')
  const personId = idsOf(seed, 'person')
  const random = new Random(seed, 'person_film_work')
  const write = (n: number, to: CopyWriter) => {
    const count = 3 + random.at(n).below(CREW - 2)
    const writers = random.chance(0.3) ? 2 : 1
    const star = Math.floor(random.next() ** 2 * people)
    // The longest walk, (count - 1) × step, is below the number of people, so no person occurs twice.
    const step = 1 + random.below(Math.floor((people - 1) / CREW))
    const created = enteredAt(random)
    for (let i = 0; i < count; i++) {
      const role = i === 0 ? 'director' : i <= writers ? 'writer' : 'actor'
      to.row()
        .uuid(id(n * CREW + i))
        .uuid(films.id(n))
        .uuid(personId((star + i * step) % people))
      to.text(role).timestamp(created)
    }
  }
  return { table: 'content.person_film_work', items: films.count, write }
}
