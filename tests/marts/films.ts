import { type CinemaRow, type CinemaRows, groupBy, latest } from '../support/cinema-rows.js'
import { Fraction } from '../support/fraction.js'

/** What the marts about films should hold, computed from the source rows without SQL. */

/** film_dim: every film with its genres and the people who made it, each list in the order of its letters. */
export function filmDim({ films, genres, people, filmGenres, filmPeople }: CinemaRows): CinemaRow[] {
  const genreName = new Map(genres.map(({ id, name }) => [id, name!]))
  const personName = new Map(people.map(({ id, full_name }) => [id, full_name!]))
  const genresOf = groupBy(filmGenres, ({ film_work_id }) => film_work_id!)
  const creditsOf = groupBy(filmPeople, ({ film_work_id }) => film_work_id!)
  return films.map((film) => {
    const credited = (role: string) =>
      (creditsOf.get(film.id!) ?? [])
        .filter((credit) => credit.role === role)
        .map(({ person_id }) => personName.get(person_id)!)
        .sort(byLetters)
    return {
      film_id: film.id!,
      title: film.title!,
      description: film.description!,
      type: film.type!,
      creation_date: film.creation_date!,
      rating: film.rating!,
      genres: (genresOf.get(film.id!) ?? []).map(({ genre_id }) => genreName.get(genre_id)!).sort(byLetters),
      directors: credited('director'),
      writers: credited('writer'),
      actors: credited('actor'),
      updated_at: film.modified!,
    }
  })
}

/** film_rating_agg: by the id that a rating names, whether or not there is such a film. */
export function filmRatingAgg({ ratings }: CinemaRows): CinemaRow[] {
  return [...groupBy(ratings, ({ film_id }) => film_id!)].map(([film_id, given]) => ({
    film_id,
    avg_rating: averageRating(given)!.round(10),
    rating_count: String(given.length),
    updated_at: latest(given.map(({ modified }) => modified!)),
  }))
}

export function genreDim({ genres, filmGenres }: CinemaRows): CinemaRow[] {
  return genres.map(({ id, name, description, modified }) => ({
    genre_id: id!,
    name: name!,
    description: description!,
    film_count: String(filmGenres.filter(({ genre_id }) => genre_id === id).length),
    updated_at: modified!,
  }))
}

export function filmFeatures(cinema: CinemaRows): CinemaRow[] {
  const { films, filmGenres, ratings, reviews, likes, views } = cinema
  return films.map(({ id, title, type, creation_date }) => {
    const of = <T extends { readonly film_id?: string }>(rows: readonly T[]) =>
      rows.filter(({ film_id }) => film_id === id)
    const seen = of(views)
    const judged = of(reviews).filter(({ sentiment }) => (sentiment as string | null) !== null)
    return {
      film_id: id!,
      title: title!,
      type: type!,
      release_year: (creation_date as string | null)?.slice(0, 4) ?? null,
      genre_count: String(filmGenres.filter(({ film_work_id }) => film_work_id === id).length),
      view_count: String(seen.length),
      viewer_count: String(new Set(seen.map(({ user_id }) => user_id)).size),
      completion: completion(seen)?.round(4) ?? null,
      finished_share: share(seen, ({ finished }) => finished === 't')?.round(4) ?? null,
      rating_count: String(of(ratings).length),
      weighted_rating: weightedRating(of(ratings), ratings).round(4),
      like_count: String(of(likes).filter(({ value }) => value === '1').length),
      dislike_count: String(of(likes).filter(({ value }) => value === '-1').length),
      review_count: String(of(reviews).length),
      positive_review_share: share(judged, ({ sentiment }) => sentiment === 'positive')?.round(4) ?? null,
      last_viewed_at: latest(seen.map(({ started_at }) => started_at!)),
    }
  })
}

const CAROUSEL_LENGTH = 20

interface Shelved {
  readonly film: CinemaRows['films'][number]
  readonly views: number
  readonly rating: Fraction
  readonly completion: Fraction
  readonly score: string
}

/** scrolling_showcase: carousels by all the views of their films, films by score, views and id. */
export function scrollingShowcase(cinema: CinemaRows): CinemaRow[] {
  const carousels = cinema.genres
    .map((genre) => ({ genre, shelf: shelfOf(genre.id!, cinema) }))
    .filter(({ shelf }) => shelf.length > 0)
    .map(({ genre, shelf }) => ({ genre, shelf, views: shelf.reduce((sum, one) => sum + one.views, 0) }))
    .sort((a, b) => b.views - a.views || byLetters(a.genre.id!, b.genre.id!))
  return carousels.flatMap(({ genre, shelf }, place) =>
    shelf.slice(0, CAROUSEL_LENGTH).map((one, position) => ({
      carousel_id: genre.id!,
      film_position: String(position + 1),
      carousel_position: String(place + 1),
      carousel_title: genre.name!,
      film_id: one.film.id!,
      film_title: one.film.title!,
      score: one.score,
      rating: one.rating.round(2),
      view_count: String(one.views),
      completion: one.completion.round(4),
    })),
  )
}

function shelfOf(genreId: string, { films, filmGenres, ratings, views }: CinemaRows): Shelved[] {
  const ids = new Set(
    filmGenres.filter(({ genre_id }) => genre_id === genreId).map(({ film_work_id }) => film_work_id),
  )
  const facts = films
    .filter(({ id }) => ids.has(id))
    .map((film) => {
      const seen = views.filter(({ film_id }) => film_id === film.id)
      const given = ratings.filter(({ film_id }) => film_id === film.id)
      const rating = weightedRating(given, ratings)
      return { film, views: seen.length, rating, completion: completion(seen) ?? new Fraction(0) }
    })
  const most = Math.max(1, ...facts.map((one) => one.views))
  const score = (one: (typeof facts)[number]) =>
    Fraction.sum([
      one.rating.times(new Fraction(5, 100)),
      new Fraction(one.views, most).times(new Fraction(3, 10)),
      one.completion.times(new Fraction(2, 10)),
    ]).round(4)
  return facts
    .map((one) => ({ ...one, score: score(one) }))
    .sort(
      (a, b) => Number(b.score) - Number(a.score) || b.views - a.views || byLetters(a.film.id!, b.film.id!),
    )
}

type Rating = CinemaRows['ratings'][number]

function averageRating(given: readonly Rating[]): Fraction | null {
  return Fraction.average(given.map(({ rating }) => new Fraction(Number(rating))))
}

/** With ten ratings of the average viewer on top. */
function weightedRating(given: readonly Rating[], all: readonly Rating[]): Fraction {
  const points = given.reduce((sum, { rating }) => sum + Number(rating), 0)
  const usual = averageRating(all) ?? new Fraction(55, 10)
  return usual
    .times(new Fraction(10))
    .plus(new Fraction(points))
    .over(new Fraction(given.length + 10))
}

export function completion(seen: CinemaRows['views']): Fraction | null {
  return Fraction.average(
    seen.map(
      ({ progress_seconds, duration_seconds }) =>
        new Fraction(Number(progress_seconds), Number(duration_seconds)),
    ),
  )
}

function share<T>(rows: readonly T[], is: (row: T) => boolean): Fraction | null {
  return rows.length === 0 ? null : new Fraction(rows.filter(is).length, rows.length)
}

/** As the embedded PostgreSQL orders texts: by code points. */
export function byLetters(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
