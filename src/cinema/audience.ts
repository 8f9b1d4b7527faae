import type { CopyWriter } from './copy-writer.js'
import { type Encounter, encounters } from './encounters.js'
import type { TableRows } from './load.js'
import { Random } from './random.js'
import type { CinemaTable } from './schema.js'
import { CINEMA_OPENS, SIGN_UP_OPENS } from './time.js'
import { idsOf, type Uuid } from './uuid.js'
import { COUNTRIES, FIRST_NAMES, LAST_NAMES, OPINIONS } from './words.js'

/** The films an audience watches, most popular first: real ones of the sample or generated ones. */
export interface Films {
  count: number
  id(film: number): Uuid
  /** 1 to 10: the opinion of the average viewer. */
  quality(film: number): number
}

export interface AudienceSize {
  users: number
  ratings: number
  reviews: number
  likes: number
  views: number
}

type Between = (to: CopyWriter, met: Encounter, random: Random) => void

/** Users and their activity. `tag` ends every login, so that two sets never share one. */
export function audience(
  films: Films,
  size: AudienceSize,
  { seed, tag }: { seed: number; tag: string },
): TableRows[] {
  const crowd = new Crowd(films, size.users, seed)
  return [
    crowd.users(tag),
    crowd.ratings(size.ratings),
    crowd.reviews(size.reviews),
    crowd.likes(size.likes),
    crowd.views(size.views),
  ]
}

class Crowd {
  readonly #films: Films
  readonly #users: number
  readonly #seed: number
  readonly #userId: (user: number) => Uuid

  constructor(films: Films, users: number, seed: number) {
    this.#films = films
    this.#users = users
    this.#seed = seed
    this.#userId = idsOf(seed, 'user')
  }

  users(tag: string): TableRows {
    const random = new Random(this.#seed, 'user')
    const write = (n: number, to: CopyWriter) => {
      const name = `${random.at(n).pick(FIRST_NAMES)} ${random.pick(LAST_NAMES)}`
      const login = `${loginOf(name)}.${n.toString(36)}${tag}`
      const created = SIGN_UP_OPENS + random.below(CINEMA_OPENS - SIGN_UP_OPENS)
      to.row().uuid(this.#userId(n)).text(login).text(`${login}@cinema.example`)
      to.text(random.chance(0.9) ? name : null).text(random.chance(0.95) ? random.pick(COUNTRIES) : null)
      to.timestamp(created).timestamp(created)
    }
    return { table: 'auth.users', items: this.#users, write }
  }

  ratings(total: number): TableRows {
    return this.#left('ugc.ratings', total, (to, { film }, random) => to.smallint(this.#score(film, random)))
  }

  reviews(total: number): TableRows {
    return this.#left('ugc.reviews', total, (to, { film }, random) => {
      const score = this.#score(film, random)
      const sentiment = score > 6 ? 'positive' : score > 4 ? 'neutral' : 'negative'
      const [first, second] = [random.pick(OPINIONS[sentiment]), random.pick(OPINIONS[sentiment])]
      to.text(first === second ? first : `${first} ${second}`).text(sentiment)
    })
  }

  likes(total: number): TableRows {
    return this.#left('ugc.likes', total, (to, { film }, random) =>
      to.smallint(this.#score(film, random) > 5 ? 1 : -1),
    )
  }

  views(total: number): TableRows {
    const length = new Random(this.#seed, 'film.length')
    return this.#left('ugc.views', total, (to, { film, created }, random) => {
      const duration = 4800 + length.at(film).below(5400)
      // The better the film, the fewer walk out.
      const finished = random.chance(this.#films.quality(film) / 12)
      const watched = finished ? 0.92 + random.next() * 0.08 : random.next() * 0.9
      to.integer(Math.floor(duration * watched))
        .integer(duration)
        .boolean(finished)
        .timestamp(created)
    })
  }

  #score(film: number, random: Random): number {
    return Math.min(10, Math.max(1, Math.round(this.#films.quality(film) + random.bell() * 4)))
  }

  /** Rows that begin with film and user and end with the times; `between` writes the columns in the middle. */
  #left(table: CinemaTable, total: number, between: Between): TableRows {
    const [films, users, seed] = [this.#films, this.#users, this.#seed]
    const meet = encounters({ kind: table, seed, films: films.count, users, total })
    const id = idsOf(seed, table)
    const random = new Random(seed, table)
    const write = (n: number, to: CopyWriter) => {
      const met = meet(n)
      to.row().uuid(id(n)).uuid(films.id(met.film)).uuid(this.#userId(met.user))
      between(to, met, random.at(n))
      to.timestamp(met.created).timestamp(met.modified)
    }
    return { table, items: total, write }
  }
}

/** Logins are plain ASCII letters; a name without any becomes `viewer`. */
function loginOf(name: string): string {
  const plain = name
    .normalize('NFD')
    .toLowerCase()
    .replace(/[^a-z ]/g, '')
    .trim()
    .replaceAll(' ', '.')
  return plain === '' ? 'viewer' : plain
}
