/** One of the pipelines that ship with the sample cinema. What is not said here has its default. */
export interface DemoPipeline {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly sourceQuery: string
  readonly targetTable: string
  readonly keyColumns: readonly string[]
}

/** Ordered inside each array: the same film must give the same row, or every run would rewrite it. */
const people = (role: string) =>
  `ARRAY(SELECT p.full_name FROM content.person_film_work pf JOIN content.person p ON p.id = pf.person_id
         WHERE pf.film_work_id = f.id AND pf.role = '${role}' ORDER BY p.full_name)`

export const DEMO_PIPELINES: readonly DemoPipeline[] = [
  {
    id: '11111111-1111-1111-1111-111111111111',
    name: 'film_dim_full',
    description: 'Every film with its genres and the people who made it.',
    targetTable: 'analytics.film_dim',
    keyColumns: ['film_id'],
    // Sub-selects, not joins: the page of films is chosen first, and only its people are looked up.
    sourceQuery: `SELECT f.id AS film_id, f.title, f.description, f.type, f.creation_date, f.rating,
       ARRAY(SELECT g.name FROM content.genre_film_work gf JOIN content.genre g ON g.id = gf.genre_id
         WHERE gf.film_work_id = f.id ORDER BY g.name) AS genres,
       ${people('director')} AS directors,
       ${people('writer')} AS writers,
       ${people('actor')} AS actors,
       f.modified AS updated_at
  FROM content.film_work f`,
  },
  {
    id: '22222222-2222-2222-2222-222222222222',
    name: 'film_rating_agg_full',
    description: 'How the audience rates each film.',
    targetTable: 'analytics.film_rating_agg',
    keyColumns: ['film_id'],
    sourceQuery: `SELECT r.film_id, avg(r.rating) AS avg_rating, count(*) AS rating_count, max(r.modified) AS updated_at
  FROM ugc.ratings r
 GROUP BY r.film_id`,
  },
  {
    id: '33333333-3333-3333-3333-333333333333',
    name: 'genre_dim_full',
    description: 'Every genre with the number of its films.',
    targetTable: 'analytics.genre_dim',
    keyColumns: ['genre_id'],
    sourceQuery: `SELECT g.id AS genre_id, g.name, g.description,
       (SELECT count(*) FROM content.genre_film_work gf WHERE gf.genre_id = g.id) AS film_count,
       g.modified AS updated_at
  FROM content.genre g`,
  },
]
