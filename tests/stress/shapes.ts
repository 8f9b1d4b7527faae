import { LAB } from '../../src/scopes/corpus/lab.js'
import type { SeededRandom } from '../../src/scopes/corpus/seeded-random.js'
import { SHAPES, type Shape } from '../../src/scopes/corpus/shapes.js'

/** How many rows of each table the writers know. */
export const SIZES = { films: 160, people: 80, studios: 15, users: 30, tags: 350, visits: 400 } as const

export const STRESS_TABLES = [
  ...['lab.studio', 'lab.film', 'lab.person', 'lab.film_person', 'lab.rating', 'lab.tag', 'lab.visit'],
]

/**
 * The lab of the scope tests, small, with a partitioned table, and with an identity of every kind: whole rows, an index,
 * the primary key.
 */
export const STRESS_LAB = `${LAB}
CREATE TABLE lab.visit (id int, film_id int NOT NULL, month int NOT NULL, PRIMARY KEY (id, month)) PARTITION BY LIST (month);
CREATE TABLE lab.visit_1 PARTITION OF lab.visit FOR VALUES IN (1);
CREATE TABLE lab.visit_2 PARTITION OF lab.visit FOR VALUES IN (2);
CREATE TABLE lab.visit_3 PARTITION OF lab.visit FOR VALUES IN (3);
CREATE INDEX ON lab.visit (film_id);
CREATE UNIQUE INDEX rating_identity ON lab.rating (film_id, user_id, bucket);
ALTER TABLE lab.rating REPLICA IDENTITY USING INDEX rating_identity;
ALTER TABLE lab.film REPLICA IDENTITY FULL; ALTER TABLE lab.studio REPLICA IDENTITY FULL; ALTER TABLE lab.tag REPLICA IDENTITY FULL;
ALTER TABLE lab.visit REPLICA IDENTITY FULL; ALTER TABLE lab.visit_1 REPLICA IDENTITY FULL;
ALTER TABLE lab.visit_2 REPLICA IDENTITY FULL; ALTER TABLE lab.visit_3 REPLICA IDENTITY FULL;
INSERT INTO lab.studio SELECT i, 'st' || i, (ARRAY['A', 'B', 'C'])[1 + i % 3] FROM generate_series(1, ${SIZES.studios}) i;
INSERT INTO lab.film SELECT i, 't' || i, (ARRAY['x', 'y', 'z'])[1 + i % 3], 1985 + i % 35, 1 + i % ${SIZES.studios} FROM generate_series(1, ${SIZES.films}) i;
INSERT INTO lab.person SELECT i, 'p' || i FROM generate_series(1, ${SIZES.people}) i;
INSERT INTO lab.film_person SELECT 1 + (i * 7) % ${SIZES.films}, 1 + (i * 11) % ${SIZES.people}, (ARRAY['act', 'dir'])[1 + i % 2] FROM generate_series(1, 420) i ON CONFLICT DO NOTHING;
INSERT INTO lab.rating SELECT 1 + (i * 13) % ${SIZES.films}, 1 + (i * 5) % ${SIZES.users}, 1 + i % 5, i % 3, repeat(md5(i::text), 120) FROM generate_series(1, 900) i ON CONFLICT DO NOTHING;
INSERT INTO lab.tag SELECT i, 1 + (i * 3) % ${SIZES.films}, 'l' || i % 9 FROM generate_series(1, 300) i;
INSERT INTO lab.visit SELECT i, 1 + (i * 17) % ${SIZES.films}, 1 + i % 3 FROM generate_series(1, 300) i;
ANALYZE;
`

const PARTITIONED: readonly Shape[] = [
  {
    name: 'partitions',
    key: ['film_id', 'month'],
    sql: 'SELECT v.film_id, v.month, count(*) AS n FROM lab.visit v GROUP BY v.film_id, v.month',
    expected: ['film_id', 'month'],
  },
  {
    name: 'partitions, LEFT JOIN',
    key: ['id'],
    sql: 'SELECT f.id, f.title, count(v.id) AS visits FROM lab.film f LEFT JOIN lab.visit v ON v.film_id = f.id GROUP BY f.id, f.title',
    expected: ['id'],
  },
]

const VIEWS: readonly Shape[] = [
  {
    name: 'view of an aggregate',
    key: ['film_id'],
    sql: 'SELECT s.film_id, s.ratings, s.stars, d.name FROM lab.film_stats s JOIN lab.studio d ON d.id = s.studio_id',
    expected: ['film_id'],
  },
  {
    name: 'view with an outer join',
    key: ['film_id', 'person_id'],
    sql: 'SELECT c.film_id, c.person_id, max(c.name) AS name, count(*) AS roles FROM lab.casting c GROUP BY c.film_id, c.person_id',
    expected: ['film_id', 'person_id'],
  },
]

/** Without a key of their own: the writers make films without tags and tags without films. */
const NULL_KEYS = new Set([
  'UNION',
  'GROUPING SETS',
  'FULL JOIN USING',
  'derived aggregate, key of a third table',
])

/** What two plans may compute differently cannot be compared. */
const OTHERS: readonly Shape[] = [...SHAPES, ...VIEWS].filter(
  ({ name, planDependent }) => planDependent === undefined && !NULL_KEYS.has(name),
)

/** If rows of both tables change between two runs, only their old rows together show the group that they have left. */
const OF_TWO_TABLES: Shape = {
  name: 'key from two tables',
  key: ['studio_id', 'user_id'],
  sql: 'SELECT f.studio_id, r.user_id, count(*) AS n, sum(r.stars) AS stars FROM lab.film f JOIN lab.rating r ON r.film_id = f.id GROUP BY f.studio_id, r.user_id',
  expected: ['studio_id', 'user_id'],
}

/** Always with one over partitions (what happens to them is not in the change log), and one of two tables. */
export function someShapes(random: SeededRandom, count: number): readonly Shape[] {
  return [random.pick(PARTITIONED), OF_TWO_TABLES, ...random.some(OTHERS, count - 2)]
}
