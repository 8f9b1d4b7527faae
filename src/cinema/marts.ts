import type { CinemaTable } from './schema.js'

/** A mart of the sample cinema. Its file defines how it is filled; this is what the demo needs besides. */
export interface CinemaMart {
  /** The same in every installation; the first two are those of the documents (R2.5). */
  readonly id: string
  /** Path below examples/cinema. */
  readonly file: string
  /** Source tables. */
  readonly reads: readonly CinemaTable[]
  /** Columns to show first, and the row order in the server's syntax. None: another mart has the same rows. */
  readonly shows: readonly string[]
  readonly order: string
  /** A column whose values are counted. */
  readonly tally?: string
}

const FILMS: readonly CinemaTable[] = [
  'content.film_work',
  'content.genre',
  'content.person',
  'content.genre_film_work',
  'content.person_film_work',
]
const GENRES: readonly CinemaTable[] = ['content.genre', 'content.genre_film_work']

/** In the order in which the demo shows them. */
export const CINEMA_MARTS: readonly CinemaMart[] = [
  {
    id: '11111111-1111-1111-1111-111111111111',
    file: 'pipelines/film_dim.yaml',
    reads: FILMS,
    shows: ['title', 'rating', 'genres', 'directors'],
    order: 'rating DESC, film_id',
  },
  {
    id: '22222222-2222-2222-2222-222222222222',
    file: 'pipelines/film_rating_agg.yaml',
    reads: ['ugc.ratings'],
    shows: ['film_id', 'avg_rating', 'rating_count', 'updated_at'],
    order: 'rating_count DESC, film_id',
  },
  {
    id: '33333333-3333-3333-3333-333333333333',
    file: 'pipelines/genre_dim.yaml',
    reads: GENRES,
    shows: ['name', 'film_count', 'description'],
    order: 'film_count DESC, genre_id',
  },
  {
    id: '44444444-4444-4444-4444-444444444444',
    file: 'pipelines/film_dim_incremental.yaml',
    reads: FILMS,
    shows: [],
    order: '',
  },
  {
    id: '55555555-5555-5555-5555-555555555555',
    file: 'pipelines/film_rating_agg_incremental.yaml',
    reads: ['ugc.ratings'],
    shows: [],
    order: '',
  },
  {
    id: '66666666-6666-6666-6666-666666666666',
    file: 'pipelines/film_features.yaml',
    reads: ['content.film_work', 'ugc.ratings', 'ugc.reviews', 'ugc.likes', 'ugc.views'],
    shows: ['title', 'weighted_rating', 'view_count', 'completion', 'like_count'],
    order: 'weighted_rating DESC, film_id',
  },
  {
    id: '77777777-7777-7777-7777-777777777777',
    file: 'pipelines/user_features.yaml',
    reads: [...GENRES, 'ugc.ratings', 'ugc.reviews', 'ugc.likes', 'ugc.views'],
    shows: ['user_id', 'view_count', 'hours_watched', 'completion', 'avg_rating', 'favourite_genre'],
    order: 'hours_watched DESC, user_id',
  },
  {
    id: '88888888-8888-8888-8888-888888888888',
    file: 'pipelines/audience_segments.yaml',
    reads: [...GENRES, 'ugc.views'],
    shows: ['user_id', 'segment', 'recency', 'frequency', 'taste', 'taste_lift', 'days_away'],
    order: 'taste_lift DESC NULLS LAST, user_id',
    tally: 'segment',
  },
  {
    id: '99999999-9999-9999-9999-999999999999',
    file: 'pipelines/scrolling_showcase.yaml',
    reads: ['content.film_work', ...GENRES, 'ugc.ratings', 'ugc.views'],
    shows: ['carousel_title', 'film_position', 'film_title', 'score', 'rating', 'view_count'],
    order: 'carousel_position, film_position',
  },
  {
    id: 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa',
    file: 'elasticsearch/film_dim.yaml',
    reads: FILMS,
    shows: ['title', 'rating', 'genres', 'directors'],
    order: 'rating:desc,film_id:asc',
  },
  {
    id: 'bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb',
    file: 'elasticsearch/film_rating_agg.yaml',
    reads: ['ugc.ratings'],
    shows: ['film_id', 'avg_rating', 'rating_count', 'updated_at'],
    order: 'rating_count:desc,film_id:asc',
  },
]
