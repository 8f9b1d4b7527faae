import { expect, it } from 'vitest'
import { olderTransactionsEnded } from '../support/older-transactions.js'
import { onEveryRoute, rowTexts, type Stand } from '../support/stand.js'
import { waitFor } from '../support/wait.js'

const FILM_DIM = `
  SELECT f.id AS film_id, f.title, f.rating,
         (SELECT array_agg(g.name ORDER BY g.name) FROM content.genre_film_work l JOIN content.genre g ON g.id = l.genre_id WHERE l.film_work_id = f.id) AS genres,
         (SELECT array_agg(DISTINCT p.full_name ORDER BY p.full_name) FROM content.person_film_work l JOIN content.person p ON p.id = l.person_id WHERE l.film_work_id = f.id) AS persons
    FROM content.film_work f`

async function expectEqual(stand: Stand, query: string, mart: string): Promise<void> {
  expect(await rowTexts(stand.target, `SELECT * FROM ${mart}`)).toEqual(await rowTexts(stand.source, query))
}

onEveryRoute((stand) => {
  const capture = { mode: 'incremental', capture: 'xmin' } as const

  it('removes what left the filter although everything has to be computed', async () => {
    await stand().source.query(`
      CREATE TABLE content.held (id int PRIMARY KEY, hidden boolean NOT NULL DEFAULT false);
      INSERT INTO content.held SELECT n FROM generate_series(1, 300) n`)
    const sourceQuery = 'SELECT id FROM content.held WHERE NOT hidden'
    const { id } = await stand().pipeline({ sourceQuery, targetTable: 'analytics.held', ...capture })
    await stand().run(id)
    // Nearly every row: computing all of them is cheaper than computing the changed ones.
    await stand().source.query('UPDATE content.held SET hidden = id <= 10')
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_deleted: 10 })
  })

  it('finds what was inserted and updated, and what left the filter', async () => {
    await stand().source.query(`
      CREATE TABLE content.seen (id int PRIMARY KEY, note text, hidden boolean NOT NULL DEFAULT false);
      INSERT INTO content.seen SELECT n, 'note ' || n FROM generate_series(1, 300) n`)
    const sourceQuery = 'SELECT id, note FROM content.seen WHERE NOT hidden'
    const { id } = await stand().pipeline({ sourceQuery, targetTable: 'analytics.seen', ...capture })
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_inserted: 300,
      guarantee: 'lossless',
    })
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_inserted: 0,
      rows_updated: 0,
    })

    await stand().source.query(
      "INSERT INTO content.seen VALUES (301, NULL); UPDATE content.seen SET note = 'other' WHERE id = 2; UPDATE content.seen SET hidden = true WHERE id IN (3, 4)",
    )
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_inserted: 1,
      rows_updated: 1,
      rows_deleted: 2,
    })
    await expectEqual(stand(), sourceQuery, 'analytics.seen')
  })

  it('reads only what changed', async () => {
    await stand().source.query(
      'CREATE TABLE content.few (id int PRIMARY KEY, n int); INSERT INTO content.few SELECT n, n FROM generate_series(1, 1000) n',
    )
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT * FROM content.few',
      targetTable: 'analytics.few',
      ...capture,
    })
    await olderTransactionsEnded(stand().source)
    await stand().run(id)
    await stand().run(id)
    await stand().source.query('UPDATE content.few SET n = 0 WHERE id <= 5')
    const run = await stand().run(id)
    expect(run).toMatchObject({ status: 'SUCCESS', rows_read: 5, rows_updated: 5 })
  })

  it('names the open transaction for which it reads rows again', async () => {
    await stand().source.query(
      'CREATE TABLE content.waited (id int PRIMARY KEY, n int); INSERT INTO content.waited SELECT n, n FROM generate_series(1, 1000) n',
    )
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT * FROM content.waited',
      targetTable: 'analytics.waited',
      ...capture,
    })
    await stand().run(id)
    const writer = await stand().source.client()
    await writer.query("SET application_name = 'nightly'; BEGIN")
    const { rows } = await writer.query<{ pid: number }>(
      'UPDATE content.waited SET n = 0 WHERE id = 1 RETURNING pg_backend_pid() AS pid',
    )
    await stand().source.query('UPDATE content.waited SET n = 0 WHERE id = 2')
    // Transactions of other tests may be older at first, and end between the snapshot of a run and the question who holds
    // it back. Then the next run reads again what has changed since theirs, and the one after it since this one.
    let run = await stand().run(id)
    await waitFor(
      async () => {
        run = await stand().run(id)
        return run.held_back?.pid === rows[0]!.pid && run.rows_read === 1
      },
      { what: 'a run that this transaction alone makes read a row again' },
    )
    expect(run.held_back).toMatchObject({
      reason: expect.stringContaining('nightly'),
      since: expect.any(String),
    })
    await writer.query('COMMIT')
    // A newer transaction of another test holds a run back as well.
    await waitFor(async () => (await stand().run(id)).held_back === null, {
      what: 'a run that no transaction holds back',
    })
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null })
  })

  it('does not return to obsolete transaction numbers when everything had to be read again', async () => {
    await stand().source.query(
      'CREATE TABLE content.restored (id int PRIMARY KEY); INSERT INTO content.restored SELECT generate_series(1, 20)',
    )
    await stand().target.query(
      'CREATE TABLE analytics.restored (id int PRIMARY KEY CONSTRAINT low CHECK (id < 15))',
    )
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT id FROM content.restored',
      targetTable: 'analytics.restored',
      batchSize: 10,
      ...capture,
    })
    await stand().run(id)
    // As if the source had been restored to an earlier moment.
    const place = (change: string) =>
      stand().target.query(
        `UPDATE etl.etl_state SET position = jsonb_set(position, '{xmin,from}', to_jsonb(((position #>> '{xmin,from}')::bigint ${change})::text)) WHERE pipeline_id = $1 AND position ? 'xmin'`,
        [id],
      )
    await place('+ 100000000')
    await stand().set(id, 'quarantine_limit', 0)
    expect(await stand().run(id)).toMatchObject({ status: 'FAILED', batches: 1 })
    await place('- 100000000')
    await stand().target.query('ALTER TABLE analytics.restored DROP CONSTRAINT low')
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null })
    await expectEqual(stand(), 'SELECT id FROM content.restored', 'analytics.restored')
  })

  it('removes deleted rows with a sweep', async () => {
    await stand().source.query(
      'CREATE TABLE content.dropped (id int PRIMARY KEY); INSERT INTO content.dropped SELECT generate_series(1, 10)',
    )
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT id FROM content.dropped',
      targetTable: 'analytics.dropped',
      deletes: 'sweep',
      ...capture,
    })
    await stand().run(id)
    await stand().source.query('DELETE FROM content.dropped WHERE id <= 3')
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_deleted: 3 })
    await expectEqual(stand(), 'SELECT id FROM content.dropped', 'analytics.dropped')
  })

  it('loses neither a late commit nor rows written after a savepoint', async () => {
    await stand().source.query(
      'CREATE TABLE content.late (id int PRIMARY KEY, note text); INSERT INTO content.late SELECT generate_series(1, 10)',
    )
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT * FROM content.late',
      targetTable: 'analytics.late',
      ...capture,
    })
    await stand().run(id)
    const late = await stand().source.client()
    await late.query(
      "BEGIN; INSERT INTO content.late VALUES (11, 'before'); SAVEPOINT a; INSERT INTO content.late VALUES (12, 'inside'); SAVEPOINT b; UPDATE content.late SET note = 'late' WHERE id = 1",
    )
    await stand().source.query("INSERT INTO content.late VALUES (13, 'quick')")
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_inserted: 1 })
    await late.query("RELEASE b; INSERT INTO content.late VALUES (14, 'after'); COMMIT")
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_inserted: 3, rows_updated: 1 })
    await expectEqual(stand(), 'SELECT * FROM content.late', 'analytics.late')
  })

  it('computes whole groups again', async () => {
    await stand().source.query(
      'CREATE TABLE content.votes (n int PRIMARY KEY, film int NOT NULL, stars int NOT NULL); INSERT INTO content.votes SELECT n, n % 7, n % 5 FROM generate_series(1, 100) n',
    )
    const sourceQuery = 'SELECT film, avg(stars) AS stars, count(*) AS votes FROM content.votes GROUP BY film'
    const { id } = await stand().pipeline({
      sourceQuery,
      targetTable: 'analytics.votes',
      keyColumns: ['film'],
      ...capture,
    })
    await stand().run(id)
    await stand().source.query(
      'INSERT INTO content.votes VALUES (101, 3, 5), (102, 8, 1); UPDATE content.votes SET stars = 5 WHERE n = 1',
    )
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_inserted: 1,
      rows_updated: 2,
      guarantee: 'bounded',
    })
    await expectEqual(stand(), sourceQuery, 'analytics.votes')
    // A row that moves away leaves no trace in its old group: the sweep finds it.
    await stand().set(id, 'deletes', 'sweep')
    await stand().source.query(
      'UPDATE content.votes SET film = 5 WHERE n = 7; DELETE FROM content.votes WHERE n IN (14, 102)',
    )
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_deleted: 1,
      guarantee: 'lossless',
    })
    await expectEqual(stand(), sourceQuery, 'analytics.votes')
  })

  it('follows foreign keys, also through link tables', async () => {
    const { id } = await stand().pipeline({
      sourceQuery: FILM_DIM,
      targetTable: 'analytics.film_dim_xmin',
      keyColumns: ['film_id'],
      ...capture,
    })
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null })
    await expectEqual(stand(), FILM_DIM, 'analytics.film_dim_xmin')
    await stand().source.query(
      'UPDATE content.genre SET name = upper(name) WHERE name = (SELECT min(name) FROM content.genre)',
    )
    expect((await stand().run(id)).rows_updated).toBeGreaterThan(0)
    await expectEqual(stand(), FILM_DIM, 'analytics.film_dim_xmin')
    await stand().source.query(
      'UPDATE content.person SET full_name = upper(full_name) WHERE id = (SELECT person_id FROM content.person_film_work LIMIT 1)',
    )
    expect((await stand().run(id)).rows_updated).toBeGreaterThan(0)
    await expectEqual(stand(), FILM_DIM, 'analytics.film_dim_xmin')
  })

  it('follows a foreign key of the mart’s own table, every one of them', async () => {
    await stand().source.query(`
      CREATE TABLE content.studio (id int PRIMARY KEY, name text);
      CREATE TABLE content.picture (id int PRIMARY KEY, title text, studio_id int REFERENCES content.studio, owner_id int REFERENCES content.studio, sequel_of int REFERENCES content.picture);
      CREATE TABLE content.quote (id int PRIMARY KEY, first_id int NOT NULL REFERENCES content.picture, second_id bigint REFERENCES content.picture, line text);
      INSERT INTO content.studio VALUES (1, 'one'), (2, 'two'), (3, 'three');
      INSERT INTO content.picture VALUES (1, 'a', 1, 2, NULL), (2, 'b', 2, 3, 1), (3, 'c', 1, 1, 2);
      INSERT INTO content.quote VALUES (1, 1, 2, 'x'), (2, 3, 1, 'y')`)
    const sourceQuery = `
      SELECT p.id, p.title, s.name AS studio, o.name AS owner, f.title AS first, (SELECT string_agg(q.line, ',' ORDER BY q.id) FROM content.quote q WHERE q.second_id = p.id) AS lines
        FROM content.picture p JOIN content.studio s ON s.id = p.studio_id JOIN content.studio o ON o.id = p.owner_id LEFT JOIN content.picture f ON f.id = p.sequel_of`
    const { id } = await stand().pipeline({ sourceQuery, targetTable: 'analytics.pictures', ...capture })
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: 3 })
    for (const change of [
      "UPDATE content.studio SET name = 'THREE' WHERE id = 3",
      "UPDATE content.picture SET title = 'A' WHERE id = 1",
      "UPDATE content.quote SET line = 'X' WHERE id = 1",
    ]) {
      await stand().source.query(change)
      expect(await stand().run(id), change).toMatchObject({ status: 'SUCCESS', error: null })
      await expectEqual(stand(), sourceQuery, 'analytics.pictures')
    }
  })

  it.each([
    ['a computed key', 'SELECT u.id + 0 AS id, u.n FROM content.untraced u'],
    [
      'a join without a foreign key',
      'SELECT u.id, u.n + o.n AS n FROM content.untraced u JOIN content.unlinked o ON o.x = u.id',
    ],
  ])('follows changes through %s', async (name, sourceQuery) => {
    const mart = `analytics."${name}"`
    const id = await untraced(stand(), { sourceQuery, targetTable: mart, ...capture })
    await stand().source.query(
      'UPDATE content.untraced SET n = 70 WHERE id = 7; UPDATE content.unlinked SET n = 80 WHERE x = 8',
    )
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null })
    await expectEqual(stand(), sourceQuery, mart)
  })

  it('computes every row where a change cannot be followed, and nothing without a change', async () => {
    const sourceQuery = 'SELECT id, n, rank() OVER (ORDER BY n, id) AS place FROM content.untraced'
    const id = await untraced(stand(), { sourceQuery, targetTable: 'analytics.places', ...capture })
    await olderTransactionsEnded(stand().source)
    await stand().run(id)
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_read: 0 })
    await stand().source.query('UPDATE content.untraced SET n = n + 100 WHERE id = 1')
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_read: 20 })
    await expectEqual(stand(), sourceQuery, 'analytics.places')
  })
})

/** A pipeline over two tables without foreign keys, after its first run. */
async function untraced(stand: Stand, spec: Parameters<Stand['pipeline']>[0]): Promise<string> {
  await stand.source.query(`
    DROP TABLE IF EXISTS content.untraced, content.unlinked;
    CREATE TABLE content.untraced (id int PRIMARY KEY, n int NOT NULL); CREATE TABLE content.unlinked (x int, n int);
    INSERT INTO content.untraced SELECT n, n FROM generate_series(1, 20) n;
    INSERT INTO content.unlinked SELECT n, n FROM generate_series(1, 20) n`)
  const { id } = await stand.pipeline(spec)
  expect(await stand.run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: 20 })
  return id
}
