import { setTimeout as hold } from 'node:timers/promises'
import type pg from 'pg'
import type { TestDatabase } from './database.js'

/** Pseudorandom numbers, the same in every run. */
function dice(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

export async function createEvents(database: TestDatabase): Promise<void> {
  await database.query(`
    CREATE SCHEMA content;
    CREATE SEQUENCE content.event_seq;
    CREATE TABLE content.event (
      id integer PRIMARY KEY, value text NOT NULL,
      seq bigint NOT NULL DEFAULT nextval('content.event_seq'), modified timestamptz NOT NULL DEFAULT now());
    CREATE INDEX ON content.event (modified, id);
    CREATE INDEX ON content.event (seq, id);
    CREATE FUNCTION content.touch() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.seq := nextval('content.event_seq');
      NEW.modified := now();
      RETURN NEW;
    END $$;
    CREATE TRIGGER touch BEFORE UPDATE ON content.event FOR EACH ROW EXECUTE FUNCTION content.touch();
    GRANT USAGE ON SCHEMA content TO vitrina_reader;
    GRANT SELECT ON content.event TO vitrina_reader`)
}

/**
 * Inserts and updates in transactions that take their time and their key early and commit late, each in its own
 * order; with savepoints, and sometimes rolled back. `isEnough` is called after each.
 */
export async function writeLate(
  database: TestDatabase,
  writer: number,
  isEnough: (transactions: number) => boolean,
): Promise<void> {
  const client = await database.client()
  const roll = dice(writer * 7919 + 1)
  for (let n = 0; !isEnough(n); n++) {
    await client.query('BEGIN')
    await oneTransaction(client, writer * 1_000_000 + n * 100, roll)
    await hold(roll(300))
    await client.query(roll(100) < 15 ? 'ROLLBACK' : 'COMMIT')
  }
}

async function oneTransaction(
  client: pg.Client,
  firstId: number,
  roll: (below: number) => number,
): Promise<void> {
  const insert = (id: number) =>
    client.query('INSERT INTO content.event (id, value) VALUES ($1, $2)', [id, `new ${id}`])
  await insert(firstId)
  await hold(roll(50))
  await client.query('SAVEPOINT inner_part')
  await insert(firstId + 1)
  await client.query(roll(2) === 0 ? 'RELEASE inner_part' : 'ROLLBACK TO inner_part')
  await insert(firstId + 2)
  // Its own rows only: writers that wait for each other would write less, not later.
  const own = Math.floor(firstId / 1_000_000)
  await client.query(
    "UPDATE content.event SET value = 'changed in ' || $1 WHERE id = (SELECT id FROM content.event WHERE id / 1000000 = $2 AND id < $1 ORDER BY md5(id::text || $1::text) LIMIT 1)",
    [firstId, own],
  )
}
