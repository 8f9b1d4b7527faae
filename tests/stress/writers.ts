import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { SeededRandom } from '../../src/scopes/corpus/seeded-random.js'
import type { TestDatabase } from '../support/database.js'
import { SIZES } from './shapes.js'

/** What writers did, by kind. */
export interface Written {
  transactions: number
  committed: number
  rolledBack: number
  savepoints: number
  late: number
  prepared: number
  hanging: number
  asynchronous: number
  truncated: number
  structural: number
  /** Deadlocks and lock time-outs among the writers. */
  refused: number
}

export function nothingWritten(): Written {
  return {
    ...{ transactions: 0, committed: 0, rolledBack: 0, savepoints: 0, late: 0, prepared: 0, hanging: 0 },
    ...{ asynchronous: 0, truncated: 0, structural: 0, refused: 0 },
  }
}

type Statement = (random: SeededRandom) => string

const film = (random: SeededRandom) => random.int(SIZES.films)
const person = (random: SeededRandom) => random.int(SIZES.people)
const studio = (random: SeededRandom) => random.int(SIZES.studios)
const user = (random: SeededRandom) => random.int(SIZES.users)
const kind = (random: SeededRandom) => random.pick(['x', 'y', 'z'])
const country = (random: SeededRandom) => random.pick(["'A'", "'B'", "'C'", 'NULL'])
const year = (random: SeededRandom) => 1985 + random.int(35)
/** Compressed it is still stored apart from its row. */
const note = (random: SeededRandom) =>
  `(SELECT string_agg(md5(i::text || ${random.int(99)}), '') FROM generate_series(1, 90) i)`

const STATEMENTS: readonly Statement[] = [
  ...repeated(
    2,
    (r) =>
      `INSERT INTO lab.film VALUES (${film(r)}, 'n${r.int(99)}', '${kind(r)}', ${year(r)}, ${studio(r)}) ON CONFLICT DO NOTHING`,
  ),
  (r) => `INSERT INTO lab.person VALUES (${person(r)}, 'n${r.int(99)}') ON CONFLICT DO NOTHING`,
  (r) =>
    `INSERT INTO lab.studio VALUES (${studio(r)}, 'n${r.int(99)}', ${country(r)}) ON CONFLICT DO NOTHING`,
  ...repeated(
    3,
    (r) =>
      `INSERT INTO lab.film_person VALUES (${film(r)}, ${person(r)}, '${r.pick(['act', 'dir'])}') ON CONFLICT DO NOTHING`,
  ),
  ...repeated(
    2,
    (r) =>
      `INSERT INTO lab.rating VALUES (${film(r)}, ${user(r)}, ${r.int(5)}, ${r.int(3)}, ${note(r)}) ON CONFLICT DO NOTHING`,
  ),
  ...repeated(
    2,
    (r) =>
      `INSERT INTO lab.tag VALUES (${r.int(SIZES.tags)}, ${r.chance(0.1) ? 'NULL' : film(r)}, 'l${r.int(9)}') ON CONFLICT DO NOTHING`,
  ),
  ...repeated(
    2,
    (r) =>
      `INSERT INTO lab.visit VALUES (${r.int(SIZES.visits)}, ${film(r)}, ${r.int(3)}) ON CONFLICT DO NOTHING`,
  ),
  (r) => `DELETE FROM lab.film WHERE id = ${film(r)}`,
  (r) => `DELETE FROM lab.person WHERE id = ${person(r)}`,
  (r) => `DELETE FROM lab.studio WHERE id = ${studio(r)}`,
  (r) => `DELETE FROM lab.film_person WHERE film_id = ${film(r)} AND person_id % 3 = ${r.int(3) - 1}`,
  (r) => `DELETE FROM lab.rating WHERE film_id = ${film(r)} AND user_id % 4 = ${r.int(4) - 1}`,
  (r) => `DELETE FROM lab.tag WHERE id = ${r.int(SIZES.tags)}`,
  (r) => `DELETE FROM lab.visit WHERE id = ${r.int(SIZES.visits)}`,
  (r) => `UPDATE lab.film SET studio_id = ${studio(r)} WHERE id = ${film(r)}`,
  (r) => `UPDATE lab.film SET kind = '${kind(r)}', year = ${year(r)} WHERE id = ${film(r)}`,
  (r) => `UPDATE lab.film SET title = 't${r.int(999)}' WHERE id = ${film(r)}`,
  (r) => `UPDATE lab.person SET name = 'p${r.int(999)}' WHERE id = ${person(r)}`,
  (r) => `UPDATE lab.studio SET country = ${country(r)} WHERE id = ${studio(r)}`,
  (r) =>
    `UPDATE lab.film_person SET film_id = ${film(r)} WHERE (film_id, person_id, role) IN (SELECT film_id, person_id, role FROM lab.film_person WHERE person_id = ${person(r)} LIMIT 1)`,
  (r) =>
    `UPDATE lab.film_person SET person_id = ${person(r)} WHERE (film_id, person_id, role) IN (SELECT film_id, person_id, role FROM lab.film_person WHERE film_id = ${film(r)} LIMIT 1)`,
  (r) =>
    `UPDATE lab.rating SET film_id = ${film(r)} WHERE (film_id, user_id) IN (SELECT film_id, user_id FROM lab.rating WHERE user_id = ${user(r)} LIMIT 1)`,
  (r) =>
    `UPDATE lab.rating SET stars = ${r.int(5)}, bucket = ${r.int(3)} WHERE film_id = ${film(r)} AND user_id = ${user(r)}`,
  // The note is not sent again.
  (r) => `UPDATE lab.rating SET stars = ${r.int(5)} WHERE film_id = ${film(r)} AND user_id % 5 = 1`,
  (r) => `UPDATE lab.tag SET film_id = ${film(r)}, label = 'l${r.int(9)}' WHERE id = ${r.int(SIZES.tags)}`,
  (r) => `UPDATE lab.visit SET film_id = ${film(r)}, month = ${r.int(3)} WHERE id = ${r.int(SIZES.visits)}`,
  (r) => `UPDATE lab.film SET id = ${film(r)} WHERE id = ${film(r)}`,
  (r) => {
    const id = film(r)
    return `WITH gone AS (DELETE FROM lab.film_person WHERE film_id = ${id}) DELETE FROM lab.film WHERE id = ${id}`
  },
  (r) => {
    const id = film(r)
    return `WITH moved AS (UPDATE lab.film SET studio_id = ${studio(r)} WHERE id = ${id}) DELETE FROM lab.rating WHERE film_id = ${id} AND user_id % 4 = ${r.int(4) - 1}`
  },
]

function repeated(times: number, statement: Statement): Statement[] {
  return Array.from({ length: times }, () => statement)
}

/** None of these sends a row; the first three send nothing at all. */
const STRUCTURAL: readonly string[] = [
  'TRUNCATE lab.visit_2',
  'BEGIN; ALTER TABLE lab.visit DETACH PARTITION lab.visit_3; DELETE FROM lab.visit_3; ALTER TABLE lab.visit ATTACH PARTITION lab.visit_3 FOR VALUES IN (3); COMMIT',
  'BEGIN; ALTER TABLE lab.visit DETACH PARTITION lab.visit_1; UPDATE lab.visit_1 SET film_id = 1; ALTER TABLE lab.visit ATTACH PARTITION lab.visit_1 FOR VALUES IN (1); COMMIT',
  'TRUNCATE lab.tag',
  'VACUUM FULL lab.tag',
  'ALTER TABLE lab.studio ADD COLUMN IF NOT EXISTS extra int DEFAULT 1',
  'ALTER TABLE lab.studio DROP COLUMN IF EXISTS extra',
]

export interface WriterOptions {
  readonly number: number
  readonly random: SeededRandom
  readonly written: Written
  readonly isEnough: () => boolean
  /** Writes rows only. */
  readonly keepsStructure?: boolean
}

/**
 * Transactions of one to four statements that end in every way a transaction can: at once, late, rolled back, prepared,
 * asynchronously, and with a commit that is decoded 10 to 310 ms before it is visible.
 */
export async function writeUntil(database: TestDatabase, options: WriterOptions): Promise<void> {
  const { number, random, written, isEnough, keepsStructure = false } = options
  const client = await database.client()
  const canceller = await database.client()
  const isAsynchronous = number % 2 === 0
  await client.query(
    `SET lock_timeout = '800ms'; SET synchronous_commit = ${isAsynchronous ? 'off' : 'local'}`,
  )
  for (let n = 0; !isEnough(); n++) {
    written.transactions += 1
    try {
      await client.query('BEGIN')
      await someStatements(client, options)
      await end(client, { ...options, canceller, name: `stress_${number}_${n}` })
    } catch {
      written.refused += 1
      await client.query('ROLLBACK').catch(() => {})
    }
    if (!keepsStructure && random.chance(0.004)) await changeStructure(client, options)
    if (random.chance(0.5)) await delay(random.next() * 8)
  }
  await client.end()
  await canceller.end()
}

async function someStatements(client: pg.Client, { random, written }: WriterOptions): Promise<void> {
  for (let left = random.int(4); left > 0; left--) {
    if (!random.chance(0.15)) {
      await client.query(random.pick(STATEMENTS)(random))
      continue
    }
    written.savepoints += 1
    await client.query('SAVEPOINT a')
    await client.query(random.pick(STATEMENTS)(random))
    await client.query('SAVEPOINT b')
    await client.query(random.pick(STATEMENTS)(random))
    await client.query(random.pick(['ROLLBACK TO SAVEPOINT a', 'ROLLBACK TO SAVEPOINT b', 'RELEASE a']))
  }
}

interface Ending extends WriterOptions {
  readonly canceller: pg.Client
  readonly name: string
}

async function end(client: pg.Client, { random, written, canceller, name, number }: Ending): Promise<void> {
  const how = random.next()
  if (how < 0.1) {
    await client.query('ROLLBACK')
    written.rolledBack += 1
    return
  }
  if (how < 0.16) {
    await delay(random.next() * 500)
    await client.query('COMMIT')
    written.late += 1
  } else if (how < 0.2) {
    await client.query(`PREPARE TRANSACTION '${name}'`)
    await delay(random.next() * 250)
    await client.query(`${random.chance(0.75) ? 'COMMIT' : 'ROLLBACK'} PREPARED '${name}'`)
    written.prepared += 1
  } else if (how < 0.24) {
    await hang(client, canceller, 10 + random.next() * 300)
    written.hanging += 1
  } else {
    await client.query('COMMIT')
    if (number % 2 === 0) written.asynchronous += 1
  }
  written.committed += 1
}

/** The commit waits for a standby that does not exist: it is in the WAL, and no snapshot sees it. */
async function hang(client: pg.Client, canceller: pg.Client, ms: number): Promise<void> {
  await client.query('SET LOCAL synchronous_commit = on')
  const { processID } = client as unknown as { processID: number }
  let isOver = false
  const done = client.query('COMMIT').finally(() => {
    isOver = true
  })
  done.catch(() => {})
  await delay(ms)
  // A transaction without changes does not wait; one that has just begun to wait may miss the first request.
  while (!isOver) {
    await canceller.query('SELECT pg_cancel_backend($1)', [processID])
    await Promise.race([done, delay(20)]).catch(() => {})
  }
  await done
}

async function changeStructure(client: pg.Client, { random, written }: WriterOptions): Promise<void> {
  const statement = random.pick(STRUCTURAL)
  try {
    if (statement.startsWith('BEGIN; ')) {
      for (const each of statement.split('; ')) await client.query(each)
    } else await client.query(statement)
    written[statement.startsWith('TRUNCATE') ? 'truncated' : 'structural'] += 1
  } catch {
    written.refused += 1
    await client.query('ROLLBACK').catch(() => {})
  }
}

/** What a writer that was interrupted has left behind. */
export async function endPrepared(database: TestDatabase): Promise<void> {
  const open = await database.query<{ gid: string }>(
    'SELECT gid FROM pg_prepared_xacts WHERE database = current_database()',
  )
  for (const { gid } of open) await database.query(`COMMIT PREPARED '${gid}'`)
}
