import { type CinemaRow, type CinemaRows, earliest, groupBy, latest, micros } from '../support/cinema-rows.js'
import { Fraction } from '../support/fraction.js'
import { byLetters, completion } from './films.js'

/** What the marts about viewers should hold, computed from the source rows without SQL and without Python. */

export function userFeatures(cinema: CinemaRows): CinemaRow[] {
  const [views, ratings, likes, reviews] = [cinema.views, cinema.ratings, cinema.likes, cinema.reviews].map(
    (rows) => groupBy(rows, ({ user_id }) => user_id!),
  ) as [Users, Users, Users, Users]
  const users = new Set([views, ratings, likes, reviews].flatMap((group) => [...group.keys()]))
  return [...users].map((user) => {
    const [seen, rated, liked, reviewed] = [views, ratings, likes, reviews].map((of) => of.get(user) ?? [])
    const times = [
      ...seen!.map(({ started_at }) => started_at!),
      ...[...rated!, ...liked!, ...reviewed!].map(({ created }) => created!),
    ]
    const average = Fraction.average(rated!.map(({ rating }) => new Fraction(Number(rating))))
    const [favourite] = genresOf(seen!, cinema)
    return {
      user_id: user,
      view_count: String(seen!.length),
      film_count: String(new Set(seen!.map(({ film_id }) => film_id)).size),
      finished_count: String(seen!.filter(({ finished }) => finished === 't').length),
      hours_watched: new Fraction(secondsOf(seen!), 3600).round(2),
      completion: completion(seen!)?.round(4) ?? null,
      rating_count: String(rated!.length),
      avg_rating: average?.round(4) ?? null,
      like_count: String(liked!.filter(({ value }) => value === '1').length),
      dislike_count: String(liked!.filter(({ value }) => value === '-1').length),
      review_count: String(reviewed!.length),
      positive_review_count: String(reviewed!.filter(({ sentiment }) => sentiment === 'positive').length),
      favourite_genre: favourite?.name ?? null,
      favourite_share: favourite?.share?.round(4) ?? null,
      first_active_at: earliest(times),
      last_active_at: latest(times),
    }
  })
}

export function audienceSegments(cinema: CinemaRows): CinemaRow[] {
  const newest = latest(cinema.views.map(({ started_at }) => started_at!))!
  const usual = new Map(genresOf(cinema.views, cinema).map(({ name, share }) => [name, share]))
  return [...groupBy(cinema.views, ({ user_id }) => user_id!)].map(([user_id, seen]) => {
    const times = seen.map(({ started_at }) => started_at!)
    const facts = {
      views: seen.length,
      recentViews: times.filter((time) => micros(time) > micros(newest) - 90n * DAY).length,
      away: daysBetween(latest(times)!, newest),
      known: daysBetween(earliest(times)!, newest),
    }
    const { name: taste, lift } = tasteOf(genresOf(seen, cinema), usual)
    return {
      user_id,
      view_count: String(facts.views),
      recent_view_count: String(facts.recentViews),
      days_away: String(facts.away),
      days_known: String(facts.known),
      completion: completion(seen)!.round(4),
      last_viewed_at: latest(times),
      recency: recencyOf(facts.away),
      frequency: frequencyOf(facts.recentViews),
      taste,
      taste_lift: lift?.round(2) ?? null,
      segment: segmentOf(facts),
    }
  })
}

type Users = Map<string, CinemaRows['views'][number][]>

interface GenreTime {
  readonly name: string
  readonly seconds: number
  /** Of the time of all genres; null when nothing was watched. */
  readonly share: Fraction | null
}

/** The genres of these views by time, longest first. A film counts for each of its genres. */
function genresOf(seen: CinemaRows['views'], { genres, filmGenres }: CinemaRows): GenreTime[] {
  const times = genres.flatMap(({ id, name }) => {
    const films = new Set(
      filmGenres.filter(({ genre_id }) => genre_id === id).map(({ film_work_id }) => film_work_id),
    )
    const of = seen.filter(({ film_id }) => films.has(film_id))
    return of.length === 0 ? [] : [{ name: name!, seconds: secondsOf(of) }]
  })
  const all = times.reduce((sum, { seconds }) => sum + seconds, 0)
  return times
    .map((time) => ({ ...time, share: all === 0 ? null : new Fraction(time.seconds, all) }))
    .sort((a, b) => b.seconds - a.seconds || byLetters(a.name, b.name))
}

function secondsOf(seen: CinemaRows['views']): number {
  return seen.reduce((sum, { progress_seconds }) => sum + Number(progress_seconds), 0)
}

/** Genres that a user watches at least 1.25 times as much as the average, with at least 6 % of the time. */
function tasteOf(
  own: readonly GenreTime[],
  usual: ReadonlyMap<string, Fraction | null>,
): { name: string | null; lift: Fraction | null } {
  if (own.every(({ share }) => share === null)) return { name: null, lift: null }
  const [best] = own
    .filter(({ share }) => share!.compare(new Fraction(6, 100)) >= 0)
    .map(({ name, share }) => ({ name, share: share!, lift: share!.over(usual.get(name)!) }))
    .sort((a, b) => b.lift.compare(a.lift) || b.share.compare(a.share) || byLetters(a.name, b.name))
  if (best === undefined || best.lift.compare(new Fraction(5, 4)) < 0)
    return { name: 'a bit of everything', lift: null }
  return best
}

const recencyOf = (away: number) => (away <= 30 ? 'recent' : away <= 90 ? 'cooling' : 'gone')
const frequencyOf = (recent: number) => (recent >= 4 ? 'often' : recent >= 2 ? 'sometimes' : 'rarely')

interface Facts {
  readonly views: number
  readonly recentViews: number
  readonly away: number
  readonly known: number
}

function segmentOf({ views, recentViews, away, known }: Facts): string {
  if (known <= 60) return 'newcomer'
  if (away > 90) return views >= 20 ? 'lapsed fan' : 'lost'
  if (away > 30) return recentViews >= 2 ? 'at risk' : 'drifting'
  return recentViews >= 4 ? 'devoted' : recentViews >= 2 ? 'regular' : 'casual'
}

const DAY = 86_400_000_000n

function daysBetween(from: string, to: string): number {
  return Number(micros(to) / DAY - micros(from) / DAY)
}
