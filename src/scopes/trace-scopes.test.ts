import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { Session } from '../postgres/session.js'
import { ImageLog, namedScopes } from './corpus/incremental.js'
import { LAB, LAB_TABLES } from './corpus/lab.js'
import {
  type KeyQuery,
  readQueryFacts,
  type ScopeTrace,
  type TableTrace,
  type Traced,
  traceScopes,
} from './index.js'

const MORE = `
CREATE UNLOGGED TABLE lab.scratch (id int PRIMARY KEY, film_id int);
CREATE TABLE lab.parent (id int PRIMARY KEY);
CREATE TABLE lab.child () INHERITS (lab.parent);
CREATE TABLE lab.visit (id int, day date, film_id int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE lab.visit_2024 PARTITION OF lab.visit FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE MATERIALIZED VIEW lab.frozen AS SELECT id FROM lab.film;
CREATE TABLE lab.secret (id int PRIMARY KEY, film_id int);
ALTER TABLE lab.secret ENABLE ROW LEVEL SECURITY;
CREATE TABLE lab.event (id int PRIMARY KEY, at timestamptz, film_id int, twice int GENERATED ALWAYS AS (film_id * 2) STORED,
  price numeric, weight float8, code text COLLATE "C");
ALTER TABLE lab.event REPLICA IDENTITY FULL;
CREATE TABLE lab.note (id int PRIMARY KEY, event_code text COLLATE "C", ref text);
CREATE TABLE lab.price (id int PRIMARY KEY, price numeric);
-- A type with an equality of its own, as citext has.
CREATE TYPE lab.email;
CREATE FUNCTION lab.email_in(cstring) RETURNS lab.email LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION lab.email_out(lab.email) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE lab.email (INPUT = lab.email_in, OUTPUT = lab.email_out, LIKE = text);
CREATE CAST (lab.email AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION lab.email_eq(lab.email, lab.email) RETURNS bool LANGUAGE sql IMMUTABLE STRICT AS 'SELECT lower($1::text) = lower($2::text)';
CREATE FUNCTION lab.email_cmp(lab.email, lab.email) RETURNS int LANGUAGE sql IMMUTABLE STRICT
  AS 'SELECT bttextcmp(lower($1::text), lower($2::text))';
CREATE OPERATOR lab.= (LEFTARG = lab.email, RIGHTARG = lab.email, FUNCTION = lab.email_eq, COMMUTATOR = OPERATOR(lab.=), MERGES);
CREATE OPERATOR CLASS lab.email_ops DEFAULT FOR TYPE lab.email USING btree AS OPERATOR 3 lab.=, FUNCTION 1 lab.email_cmp;
CREATE TABLE lab.member (id int PRIMARY KEY, email lab.email, film_id int);
CREATE TABLE lab.guest (id int PRIMARY KEY, email lab.email);
CREATE VIEW lab.best AS SELECT s.film_id, s.ratings FROM lab.film_stats s WHERE s.ratings > 0;
CREATE FUNCTION lab.twice(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT $1 * 2';
`
let database: TestDatabase
let session: Session

beforeAll(async () => {
  database = await aDatabase({ migrated: false })
  await database.query(LAB + MORE)
  session = await Session.open(database.url, 'vitrina-scopes', new AbortController().signal)
})
afterAll(() => session.close())

async function trace(sql: string, ...key: string[]): Promise<ScopeTrace> {
  return traceScopes(await readQueryFacts(session, sql), key)
}

async function traced(sql: string, ...key: string[]): Promise<Traced> {
  const found = await trace(sql, ...key)
  if (!found.traced) throw new Error(found.reason)
  return found
}

async function reasonFor(sql: string, ...key: string[]): Promise<string> {
  const found = await trace(sql, ...key)
  return found.traced ? `traced by ${namesOf(found)}` : found.reason
}

const namesOf = ({ scope }: Traced) => scope.map(({ name }) => name).join(', ')

function tableOf({ tables }: Traced, name: string): TableTrace {
  return tables.find(({ table }) => table.table === name)!
}

/** Tables of which a change means the full query. */
function untraced({ tables }: Traced): string[] {
  return tables
    .filter(({ occurrences }) => occurrences.some((each) => !each.traced))
    .map(({ table }) => table.table)
}

function keyQueryOf(found: Traced, table: string): KeyQuery {
  const [only] = tableOf(found, table).occurrences
  if (only?.traced !== true) throw new Error(`${table} is not traced`)
  return only.keyQuery
}

describe('the scope', () => {
  it('is the key of a plain query', async () => {
    const found = await traced('SELECT f.id, f.title FROM lab.film f', 'id')
    expect(found.scope).toEqual([{ name: 'id', type: 'integer', mayBeNull: false }])
  })

  it('leaves out key columns by which a window does not divide its rows', async () => {
    const sql = `SELECT r.film_id, r.user_id, rank() OVER (PARTITION BY r.film_id ORDER BY r.stars) AS place FROM lab.rating r`
    expect(namesOf(await traced(sql, 'film_id', 'user_id'))).toBe('film_id')
  })

  it('needs the partition of all windows', async () => {
    const sql = `SELECT r.film_id, r.user_id, rank() OVER (PARTITION BY r.film_id ORDER BY r.stars) AS a,
      rank() OVER w AS b FROM lab.rating r WINDOW w AS (PARTITION BY r.user_id ORDER BY r.stars)`
    expect(await reasonFor(sql, 'film_id', 'user_id')).toMatch(
      /film_id: it is not in PARTITION BY of every window/,
    )
  })

  it('may be computed from grouped columns', async () => {
    const sql =
      'SELECT upper(f.kind) AS kind, f.year / 10 * 10 AS decade, count(*) AS n FROM lab.film f GROUP BY f.kind, f.year / 10 * 10'
    const found = await traced(sql, 'kind', 'decade')
    expect(namesOf(found)).toBe('kind, decade')
    // A division may fail on a row that the query filters out.
    expect(keyQueryOf(found, 'film').mayFail).toBe(true)
  })

  it('keeps constants that distinguish the branches of a UNION', async () => {
    const sql = `SELECT 'f' AS what, f.id FROM lab.film f UNION ALL SELECT 'p', p.id FROM lab.person p`
    expect(namesOf(await traced(sql, 'what', 'id'))).toBe('what, id')
  })

  it('may be determined by the primary key in GROUP BY, DISTINCT ON or PARTITION BY', async () => {
    const inside = `SELECT x.studio_id, max(x.n) AS n FROM (SELECT f.id, f.studio_id, count(r.user_id) AS n FROM lab.film f
      LEFT JOIN lab.rating r ON r.film_id = f.id GROUP BY f.id) x GROUP BY x.studio_id`
    expect(untraced(await traced(inside, 'studio_id'))).toEqual([])
    const joined =
      'SELECT s.id, sum(x.ratings) AS n FROM lab.studio s LEFT JOIN lab.film_stats x ON x.studio_id = s.id GROUP BY s.id'
    expect(untraced(await traced(joined, 'id'))).toEqual([])
    const first = `SELECT DISTINCT ON (f.id) f.studio_id, r.user_id FROM lab.film f JOIN lab.rating r ON r.film_id = f.id ORDER BY f.id, r.user_id`
    expect(namesOf(await traced(first, 'studio_id'))).toBe('studio_id')
    const ranked = `SELECT f.kind, rank() OVER (PARTITION BY f.id ORDER BY r.stars) AS n FROM lab.film f JOIN lab.rating r ON r.film_id = f.id`
    expect(namesOf(await traced(ranked, 'kind'))).toBe('kind')
    // Half of a primary key determines nothing.
    const half = 'SELECT DISTINCT ON (r.film_id) r.user_id FROM lab.rating r ORDER BY r.film_id, r.stars'
    expect(await reasonFor(half, 'user_id')).toMatch(/not in DISTINCT ON/)
  })

  it('is common to all grouping sets', async () => {
    const sql = 'SELECT f.kind, f.year, count(*) AS n FROM lab.film f GROUP BY f.kind, ROLLUP (f.year)'
    expect(namesOf(await traced(sql, 'kind', 'year'))).toBe('kind')
  })

  it('reports which columns may be NULL', async () => {
    const found = await traced(
      'SELECT t.label, f.id FROM lab.tag t LEFT JOIN lab.film f ON f.id = t.film_id',
      'label',
      'id',
    )
    expect(found.scope.map(({ mayBeNull }) => mayBeNull)).toEqual([true, true])
  })

  it('does not follow what COALESCE makes of an absent row', async () => {
    const sql = `SELECT coalesce(f.kind, 'none') AS kind, count(*) AS n FROM lab.studio s LEFT JOIN lab.film f ON true GROUP BY 1`
    expect(await reasonFor(sql, 'kind')).toMatch(/optional side of an outer join/)
    const constant = `SELECT coalesce(x.one, 2) AS one, s.name FROM lab.studio s LEFT JOIN (SELECT 1 AS one, f.studio_id FROM lab.film f) x ON x.studio_id = s.id`
    expect(await reasonFor(constant, 'one')).toMatch(/optional side of an outer join/)
  })
})

describe('equal values with different texts', () => {
  it('are a scope, but nothing is computed from them', async () => {
    expect(
      namesOf(await traced('SELECT e.price AS id, count(*) AS n FROM lab.event e GROUP BY e.price', 'id')),
    ).toBe('id')
    expect(namesOf(await traced('SELECT e.price::text AS id FROM lab.event e', 'id'))).toBe('id')
    const computed = 'SELECT e.price::text AS id, count(*) AS n FROM lab.event e GROUP BY e.price'
    expect(await reasonFor(computed, 'id')).toMatch(/not in GROUP BY/)
    const nested = 'SELECT x.price::text AS id FROM (SELECT DISTINCT e.price FROM lab.event e) x'
    expect(await reasonFor(nested, 'id')).toMatch(/one of several equal values/)
  })

  it('are not substituted for each other', async () => {
    const sql =
      'SELECT e.price AS id, count(*) AS n FROM lab.event e JOIN lab.price p ON p.price = e.price GROUP BY e.price'
    expect(keyQueryOf(await traced(sql, 'id'), 'price').reads.map(({ table }) => table)).toEqual(['event'])
  })

  it('are not compared by another operator than that of the query', async () => {
    const member =
      'SELECT f.id FROM lab.film f JOIN lab.member m ON m.film_id = f.id JOIN lab.guest g USING (email)'
    expect(untraced(await traced(member, 'id'))).toEqual(['guest'])
    expect(
      await reasonFor('SELECT m.email AS id, count(*) AS n FROM lab.member m GROUP BY m.email', 'id'),
    ).toMatch(/compared exactly/)
  })
})

describe('a query is not traced', () => {
  const CASES: readonly (readonly [RegExp, string])[] = [
    [
      /WITH RECURSIVE/,
      'WITH RECURSIVE t(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM t WHERE id < 3) SELECT id FROM t',
    ],
    [
      /optional side of an outer join/,
      'SELECT coalesce(f.id, s.id) AS id FROM lab.film f FULL JOIN lab.studio s ON s.id = f.studio_id',
    ],
    // 1.0 and 1.00 are equal: the one of the absent row is not known.
    [
      /optional side of an outer join/,
      'SELECT coalesce(e.price, p.price) AS id FROM lab.event e FULL JOIN lab.price p ON p.price = e.price',
    ],
    [/LIMIT or OFFSET/, 'SELECT f.id FROM lab.film f ORDER BY f.id LIMIT 10'],
    [
      /LIMIT or OFFSET/,
      'SELECT f.id FROM lab.film f UNION ALL SELECT s.id FROM lab.studio s ORDER BY 1 OFFSET 2',
    ],
    [/PARTITION BY/, 'SELECT f.id, rank() OVER (ORDER BY f.year) AS place FROM lab.film f'],
    [
      /not in GROUP BY/,
      'SELECT f.id, count(*) AS n FROM lab.film f GROUP BY GROUPING SETS ((f.id), (f.kind))',
    ],
    [/now\(\) is STABLE/, 'SELECT f.id FROM lab.film f WHERE f.year > extract(year FROM now())'],
    [/CURRENT_DATE/, 'SELECT f.id, CURRENT_DATE AS day FROM lab.film f'],
    [/random\(\) is VOLATILE/, 'SELECT f.id, random() AS n FROM lab.film f'],
    [/age\(\) is STABLE/, 'SELECT e.id, age(e.at) AS n FROM lab.event e'],
    [/twice\(\) is STABLE/, 'SELECT f.id, lab.twice(f.year) AS n FROM lab.film f'],
    [/TABLESAMPLE/, 'SELECT f.id FROM lab.film f TABLESAMPLE BERNOULLI (10)'],
    [/system column/, 'SELECT f.id, f.xmin::text AS version FROM lab.film f'],
    [/unlogged/, 'SELECT f.id FROM lab.film f JOIN lab.scratch s ON s.film_id = f.id'],
    [/child tables by inheritance/, 'SELECT p.id FROM lab.parent p'],
    [/materialized view/, 'SELECT id FROM lab.frozen'],
    [/row-level security/, 'SELECT s.id FROM lab.secret s'],
    [/catalog/, 'SELECT c.oid AS id FROM pg_catalog.pg_class c'],
    [/one value/, 'SELECT 1 AS id, count(*) AS n FROM lab.film f'],
    [/FOR UPDATE/, 'SELECT x.id FROM (SELECT f.id FROM lab.film f FOR UPDATE) x'],
    [
      /it is an aggregate/,
      'SELECT x.n AS id, count(*) AS films FROM (SELECT count(*) AS n FROM lab.rating r GROUP BY r.film_id) x GROUP BY x.n',
    ],
    [
      /it is a window function/,
      'SELECT x.id FROM (SELECT row_number() OVER (PARTITION BY f.kind) AS id FROM lab.film f) x',
    ],
    [
      /result of a function/,
      'SELECT s.id, f.title FROM lab.film f CROSS JOIN ROWS FROM (generate_series(1, f.year), generate_series(1, 2)) s(id, other)',
    ],
    // Of an absent row the function makes one row, which no row of the table explains.
    [
      /result of a function/,
      `SELECT s.id FROM lab.film f LEFT JOIN lab.tag t ON t.film_id = f.id CROSS JOIN LATERAL unnest(ARRAY[coalesce(t.id, 0)]) s(id)`,
    ],
    [
      /function that returns rows/,
      'SELECT x.id FROM (SELECT unnest(array_agg(r.user_id)) AS id FROM lab.rating r GROUP BY r.film_id) x',
    ],
    [/not a column of the query/, 'SELECT f.title FROM lab.film f'],
    // The row that takes the place of the deleted one did not change.
    [
      /not in DISTINCT ON/,
      'SELECT x.user_id AS id, count(*) AS n FROM (SELECT DISTINCT ON (film_id) film_id, user_id FROM lab.rating ORDER BY film_id, stars) x GROUP BY 1',
    ],
  ]
  for (const [reason, sql] of CASES)
    it(`${reason.source}: ${sql.slice(0, 100)}`, async () => {
      expect(await reasonFor(sql, 'id')).toMatch(reason)
    })

  it('except if its functions depend only on settings that every session fixes', async () => {
    const sql = `SELECT date_trunc('day', e.at) AS day, e.at::date AS d, to_char(e.at, 'HH24') AS h, jsonb_agg(e.id ORDER BY e.id) AS ids
      FROM lab.event e GROUP BY 1, 2, 3`
    expect(namesOf(await traced(sql, 'day', 'd', 'h'))).toBe('day, d, h')
  })

  it('except if its function in FROM depends only on its arguments', async () => {
    const sql = `SELECT f.id, w.word FROM lab.film f CROSS JOIN LATERAL regexp_split_to_table(f.title, ' ') w(word)`
    expect(namesOf(await traced(sql, 'id', 'word'))).toBe('id')
    expect(namesOf(await traced(sql, 'word'))).toBe('word')
  })
})

describe('a table is not traced, others are', () => {
  const CASES: readonly (readonly [string, readonly string[], string])[] = [
    [
      'an optional row is the only bridge',
      ['film'],
      `SELECT p.id, count(fp.role) AS n FROM lab.film f CROSS JOIN lab.person p
      LEFT JOIN lab.film_person fp ON fp.film_id = f.id AND fp.person_id = p.id GROUP BY p.id`,
    ],
    [
      'an aggregate over no rows is still a row',
      ['film'],
      `SELECT p.id, sum(x.n) AS n FROM lab.film f CROSS JOIN lab.person p
      CROSS JOIN LATERAL (SELECT count(*) AS n FROM lab.film_person fp WHERE fp.film_id = f.id AND fp.person_id = p.id) x GROUP BY p.id`,
    ],
    ['NOT IN', ['tag'], 'SELECT f.id FROM lab.film f WHERE f.id NOT IN (SELECT t.film_id FROM lab.tag t)'],
    // A tag without a film stays as long as there are no ratings at all.
    [
      'NOT IN with a NULL on its left',
      ['rating'],
      'SELECT t.id FROM lab.tag t WHERE t.film_id NOT IN (SELECT r.film_id FROM lab.rating r)',
    ],
    [
      'NOT IN with an optional row',
      ['tag', 'studio'],
      'SELECT f.id FROM lab.film f WHERE f.id NOT IN (SELECT s.id FROM lab.tag t LEFT JOIN lab.studio s ON s.id = t.id)',
    ],
    [
      'a subquery without connection',
      ['studio'],
      'SELECT f.id FROM lab.film f WHERE f.year > (SELECT avg(s.id) FROM lab.studio s)',
    ],
    [
      'only OR connects',
      ['tag'],
      'SELECT f.id FROM lab.film f JOIN lab.tag t ON t.film_id = f.id OR t.label = f.kind',
    ],
    [
      'only a function connects',
      ['tag'],
      'SELECT f.id FROM lab.film f JOIN lab.tag t ON lower(t.label) = lower(f.kind)',
    ],
    // The cast fails on texts that are not numbers, which the query never casts.
    [
      'only a cast that may fail connects',
      ['note'],
      `SELECT f.id FROM lab.film f JOIN lab.note n ON n.ref::int = f.id WHERE n.ref ~ '^[0-9]+$'`,
    ],
  ]
  for (const [name, tables, sql] of CASES)
    it(name, async () => {
      const found = await traced(sql, 'id')
      expect(untraced(found)).toEqual(tables)
      const occurrence = tableOf(found, tables[0]!).occurrences.find((each) => !each.traced)
      expect(occurrence).toMatchObject({
        reason: expect.stringContaining(`No join on columns leads from lab.${tables[0]} to id`),
      })
    })

  const TRACED: readonly (readonly [string, string])[] = [
    [
      'EXISTS and NOT EXISTS',
      `SELECT f.id FROM lab.film f WHERE EXISTS (SELECT FROM lab.tag t WHERE t.film_id = f.id)
      AND NOT EXISTS (SELECT FROM lab.rating r WHERE r.film_id = f.id)`,
    ],
    ['IN', 'SELECT f.id FROM lab.film f WHERE f.studio_id IN (SELECT s.id FROM lab.studio s)'],
    [
      'NOT IN without NULLs',
      'SELECT f.id FROM lab.film f WHERE f.id NOT IN (SELECT r.film_id FROM lab.rating r WHERE r.stars = 1)',
    ],
    [
      'a subquery in ON',
      `SELECT f.id, t.label FROM lab.film f LEFT JOIN lab.tag t ON t.film_id = f.id
      AND EXISTS (SELECT FROM lab.rating r WHERE r.film_id = f.id)`,
    ],
    [
      'LATERAL with LIMIT',
      `SELECT f.id, x.user_id FROM lab.film f CROSS JOIN LATERAL
      (SELECT r.user_id FROM lab.rating r WHERE r.film_id = f.id ORDER BY r.stars, r.user_id LIMIT 3) x`,
    ],
    [
      'USING, RIGHT JOIN and NATURAL JOIN',
      `SELECT film_id AS id, count(*) AS n FROM lab.tag RIGHT JOIN lab.rating USING (film_id)
      NATURAL JOIN lab.film_person GROUP BY film_id`,
    ],
    ['a view of a view', 'SELECT b.film_id AS id, b.ratings FROM lab.best b'],
    [
      'a WITH query that is named twice',
      `WITH r AS (SELECT film_id, avg(stars) AS a FROM lab.rating GROUP BY film_id)
      SELECT f.id, r.a FROM lab.film f JOIN r ON r.film_id = f.id WHERE EXISTS (SELECT FROM r x WHERE x.film_id = f.id)`,
    ],
    ['ONLY, past the children', 'SELECT p.id FROM ONLY lab.parent p'],
    [
      'FULL JOIN',
      `SELECT coalesce(x.id, y.film_id) AS id, x.title, y.n FROM lab.film x FULL JOIN
      (SELECT t.film_id, count(*) AS n FROM lab.tag t GROUP BY t.film_id) y ON y.film_id = x.id`,
    ],
    [
      'FULL JOIN with USING',
      'SELECT film_id AS id, count(*) AS n FROM lab.tag FULL JOIN lab.rating USING (film_id) GROUP BY film_id',
    ],
    [
      'rows of a function in FROM, in both directions',
      `SELECT n.id, count(*) AS films FROM lab.film f CROSS JOIN LATERAL generate_series(f.year, f.year + 1) n(id)
      LEFT JOIN lab.rating r ON r.stars = n.id GROUP BY n.id`,
    ],
    [
      'rows of a function in the select list',
      `SELECT x.id, count(*) AS n FROM (SELECT unnest(ARRAY[t.film_id, t.id]) AS id FROM lab.tag t) x GROUP BY x.id`,
    ],
    [
      'a join with an alias',
      'SELECT j.id, j.label FROM (lab.film f JOIN lab.tag t(tag_id, film_id, label) ON t.film_id = f.id) j',
    ],
  ]
  for (const [name, sql] of TRACED)
    it(`not for ${name}`, async () => {
      const found = await traced(sql, 'id')
      expect(untraced(found)).toEqual([])
      expect(namesOf(found)).toBe('id')
    })
})

describe('key queries', () => {
  it('read no table if an equal column is available', async () => {
    const found = await traced(
      'SELECT f.id, count(*) AS n FROM lab.film f JOIN lab.rating r ON r.film_id = f.id GROUP BY f.id',
      'id',
    )
    expect(keyQueryOf(found, 'rating').reads).toEqual([])
    expect(tableOf(found, 'rating').columns).toEqual(['film_id'])
  })

  it('skip a table between two others', async () => {
    const sql = `SELECT p.id, count(*) AS n FROM lab.person p JOIN lab.film_person fp ON fp.person_id = p.id
      JOIN lab.film f ON f.id = fp.film_id JOIN lab.rating r ON r.film_id = f.id GROUP BY p.id`
    const found = await traced(sql, 'id')
    expect(keyQueryOf(found, 'rating').reads.map(({ table }) => table)).toEqual(['film_person'])
  })

  it('carry the collation of a column', async () => {
    const sql = `SELECT e.id FROM lab.event e JOIN lab.note n ON n.event_code < e.code`
    expect(keyQueryOf(await traced(sql, 'id'), 'note').text).toContain('COLLATE pg_catalog."C"')
  })

  it('name a generated column that they need', async () => {
    const found = await traced('SELECT f.id FROM lab.film f JOIN lab.event e ON e.twice = f.id', 'id')
    expect(tableOf(found, 'event').generatedColumns).toEqual(['twice'])
  })

  it('report whether the replica identity has what they need', async () => {
    const found = await traced(
      'SELECT f.id FROM lab.film f JOIN lab.tag t ON t.film_id = f.id JOIN lab.event e ON e.film_id = f.id',
      'id',
    )
    expect(tableOf(found, 'film')).toMatchObject({ isLossless: true, primaryKey: ['id'] })
    expect(tableOf(found, 'tag')).toMatchObject({
      isLossless: false,
      columns: ['film_id'],
      identity: { kind: 'primary key', columns: ['id'] },
    })
    expect(tableOf(found, 'event')).toMatchObject({ isLossless: true, identity: { kind: 'full' } })
  })

  it('take the changes of a partition from the table at the top', async () => {
    const found = await traced(
      'SELECT v.film_id AS id, count(*) AS n FROM lab.visit_2024 v GROUP BY v.film_id',
      'id',
    )
    expect(tableOf(found, 'visit_2024').capturedAs).toEqual({ schema: 'lab', table: 'visit' })
    expect(untraced(await traced('SELECT v.film_id AS id FROM lab.visit v', 'id'))).toEqual([])
  })

  it('do not read a table that the login may not read', async () => {
    await database.query(`CREATE ROLE narrow_${process.pid} LOGIN; GRANT USAGE ON SCHEMA lab TO narrow_${process.pid};
      GRANT SELECT ON lab.casting, lab.person, lab.film TO narrow_${process.pid}`)
    const narrow = await Session.open(database.url, 'vitrina-narrow', new AbortController().signal)
    try {
      await narrow.run(`SET ROLE narrow_${process.pid}`)
      const sql =
        'SELECT c.person_id AS id, count(*) AS n FROM lab.casting c JOIN lab.film f ON f.id = c.film_id GROUP BY 1'
      const found = traceScopes(await readQueryFacts(narrow, sql), ['id'])
      // From film the way leads through film_person, which only the owner of the view may read.
      expect(found.traced && untraced(found)).toEqual(['film'])
    } finally {
      await narrow.close()
      await database.query(`DROP OWNED BY narrow_${process.pid}; DROP ROLE narrow_${process.pid}`)
    }
  })
})

describe('changes', () => {
  const SQL = `SELECT p.id, count(*) AS n FROM lab.person p JOIN lab.film_person fp ON fp.person_id = p.id
    JOIN lab.film f ON f.id = fp.film_id GROUP BY p.id`
  const around = (changes: string) => ImageLog.around(session, { schema: 'lab', tables: LAB_TABLES }, changes)

  it('name the old and the new group of a row that moves', async () => {
    const found = await traced(
      'SELECT t.film_id AS id, count(*) AS n FROM lab.tag t GROUP BY t.film_id',
      'id',
    )
    await session.run('INSERT INTO lab.tag VALUES (1, 10, NULL)')
    const log = await around('UPDATE lab.tag SET film_id = 20 WHERE id = 1')
    expect(await namedScopes(session, found, log)).toEqual(new Set(['["10"]', '["20"]']))
  })

  it('find a combination that lost two rows, from the old images of either table', async () => {
    const found = await traced(SQL, 'id')
    await session.run(`INSERT INTO lab.person VALUES (1, 'p'); INSERT INTO lab.film VALUES (7, '', 'k', 1, 1);
      INSERT INTO lab.film_person VALUES (7, 1, 'act')`)
    const log = await around('DELETE FROM lab.film_person; DELETE FROM lab.film')
    expect(await namedScopes(session, found, log)).toContain('["1"]')
    const onlyFilm = { ...found, tables: found.tables.filter(({ table }) => table.table === 'film') }
    expect(await namedScopes(session, onlyFilm, log)).toEqual(new Set(['["1"]']))
    const withoutOld = { has: () => true, old: () => [], changed: (table: string) => log.changed(table) }
    expect(await namedScopes(session, onlyFilm, withoutOld)).toEqual(new Set())
  })

  it('name every pair of the rows of two functions', async () => {
    const sql = `SELECT x.id, y.b, count(*) AS n FROM (SELECT t.id AS tag, unnest(ARRAY[t.id, t.film_id]) AS id FROM lab.tag t) x
      JOIN (SELECT t.id AS tag, unnest(ARRAY[t.label, 'none']) AS b FROM lab.tag t) y ON y.tag = x.tag GROUP BY x.id, y.b`
    const log = await around("INSERT INTO lab.tag VALUES (60, 1, 'x')")
    expect(await namedScopes(session, await traced(sql, 'id', 'b'), log)).toEqual(
      new Set(['["60","x"]', '["60","none"]', '["1","x"]', '["1","none"]']),
    )
    const inside = `SELECT x.id, unnest(ARRAY[x.label, 'none']) AS b FROM (SELECT unnest(ARRAY[t.id, t.film_id]) AS id, t.label FROM lab.tag t) x`
    expect(await namedScopes(session, await traced(inside, 'id', 'b'), log)).toEqual(
      new Set(['["60","x"]', '["60","none"]', '["1","x"]', '["1","none"]']),
    )
  })

  it('name the scopes of both sides of a FULL JOIN', async () => {
    const sql = `SELECT coalesce(x.id, y.film_id) AS id, x.title, y.label FROM lab.film x FULL JOIN lab.tag y ON y.film_id = x.id`
    const log = await around(
      "INSERT INTO lab.tag VALUES (70, 71, 'x'); INSERT INTO lab.film VALUES (72, '', 'k', 1, 1)",
    )
    expect(await namedScopes(session, await traced(sql, 'id'), log)).toEqual(new Set(['["71"]', '["72"]']))
  })

  it('never name a scope with a NULL', async () => {
    const found = await traced('SELECT t.label AS id, count(*) AS n FROM lab.tag t GROUP BY t.label', 'id')
    const log = await around("INSERT INTO lab.tag VALUES (50, 1, NULL), (51, 1, 'x')")
    expect(await namedScopes(session, found, log)).toEqual(new Set(['["x"]']))
  })
})

describe('recompute', () => {
  it('returns rows once if a scope is written in two ways', async () => {
    const found = await traced('SELECT e.price AS id, count(*) AS n FROM lab.event e GROUP BY e.price', 'id')
    await session.run('INSERT INTO lab.event VALUES (1, now(), 1, DEFAULT, 1.0, 1, NULL)')
    expect(await session.rows(found.recompute.lateral, [['1.0', '1.00']])).toHaveLength(1)
    expect(await session.rows(found.recompute.any, [['1.0', '1.00']])).toHaveLength(1)
  })

  it('inlines WITH queries, and leaves the full query as it is', async () => {
    const sql = `WITH "ä (1" AS MATERIALIZED (SELECT film_id FROM lab.rating), b(id, "x)") AS (SELECT film_id, 1 FROM "ä (1"),
      c AS NOT MATERIALIZED (SELECT 1) SELECT b.id FROM b JOIN "ä (1" a ON a.film_id = b.id`
    const { recompute } = await traced(sql, 'id')
    expect(recompute.lateral.match(/ AS NOT MATERIALIZED \(/g)).toHaveLength(3)
    expect(recompute.lateral).not.toMatch(/AS MATERIALIZED/)
    expect(recompute.full).toMatch(/AS MATERIALIZED/)
    await session.rows(recompute.lateral, [['1']])
    await session.rows(recompute.any, [['1']])
  })
})

describe('columns that depend on the plan', () => {
  const CASES: readonly (readonly [string, Record<string, RegExp>])[] = [
    [
      'SELECT e.film_id AS id, sum(e.weight) AS a, sum(e.price) AS b, avg(e.id) AS c FROM lab.event e GROUP BY 1',
      { a: /floating-point/ },
    ],
    [
      `SELECT t.film_id AS id, string_agg(t.label, ',') AS a, string_agg(t.label, ',' ORDER BY t.label) AS b, array_agg(t.id) AS c FROM lab.tag t GROUP BY 1`,
      { a: /string_agg\(\) without ORDER BY/, c: /array_agg/ },
    ],
    [
      'SELECT r.film_id AS id, row_number() OVER (PARTITION BY r.film_id ORDER BY r.stars) AS a, row_number() OVER (PARTITION BY r.film_id ORDER BY r.user_id) AS b FROM lab.rating r',
      { a: /row_number/ },
    ],
    [
      'SELECT DISTINCT ON (r.film_id) r.film_id AS id, r.user_id AS a FROM lab.rating r ORDER BY r.film_id, r.stars',
      { a: /DISTINCT ON/ },
    ],
    [
      'SELECT DISTINCT ON (r.film_id) r.film_id AS id, r.user_id AS a FROM lab.rating r ORDER BY r.film_id, r.stars, r.user_id',
      {},
    ],
    [
      `SELECT f.id, x.user_id AS a FROM lab.film f JOIN (SELECT r.film_id, r.user_id, row_number() OVER (PARTITION BY r.film_id ORDER BY r.stars) AS n
      FROM lab.rating r) x ON x.film_id = f.id WHERE x.n = 1`,
      { a: /row_number/ },
    ],
  ]
  for (const [sql, expected] of CASES)
    it(sql.slice(0, 100), async () => {
      const { planDependent } = await traced(sql, 'id')
      expect(planDependent.map(({ name }) => name)).toEqual(Object.keys(expected))
      for (const { name, reason } of planDependent) expect(reason).toMatch(expected[name]!)
    })
})

it('reports a query that the server refuses', async () => {
  await expect(readQueryFacts(session, 'SELECT * FROM lab.nothing')).rejects.toMatchObject({
    message: expect.stringContaining('lab.nothing'),
  })
  // The session stays usable, and nothing is left behind.
  expect(await session.rows("SELECT count(*) AS n FROM pg_class WHERE relname = 'vitrina_scopes'")).toEqual([
    { n: '0' },
  ])
})

it('gives up on a query that grows without bounds', async () => {
  const queries = Array.from({ length: 12 }, (_, place) =>
    place === 0
      ? 'q0 AS (SELECT id FROM lab.film)'
      : `q${place} AS (SELECT a.id FROM q${place - 1} a JOIN q${place - 1} b ON b.id = a.id)`,
  )
  expect(await reasonFor(`WITH ${queries.join(', ')} SELECT id FROM q11`, 'id')).toMatch(
    /more than 400 times/,
  )
})
