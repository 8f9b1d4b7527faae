import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { describe, expect, it } from 'vitest'
import { TABLE_NAMES } from '../../src/cinema/index.js'
import { aDatabase, type TestDatabase } from '../support/database.js'

const FILE = fileURLToPath(new URL('../../examples/cinema/sql/cinema.sql', import.meta.url))
const run = promisify(execFile)

/** One hash for each table, over all rows. */
async function signature(database: TestDatabase): Promise<Record<string, string>> {
  const hashes = TABLE_NAMES.map(
    (table) =>
      `(SELECT count(*) || ' ' || md5(string_agg(r::text, E'\\n' ORDER BY r.id)) FROM ${table} r) AS "${table}"`,
  )
  const client = await database.client()
  await client.query("SET timezone = 'UTC'")
  return (await client.query(`SELECT ${hashes.join(', ')}`)).rows[0]
}

/** Columns, keys, indexes and triggers of the three schemas. */
async function rules(database: TestDatabase): Promise<unknown[]> {
  return database.query(`
    SELECT format('%s.%s %s %s %s %s', table_schema, table_name, column_name, data_type, is_nullable, column_default) AS rule
      FROM information_schema.columns WHERE table_schema IN ('content', 'ugc', 'auth')
    UNION ALL SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid)
      FROM pg_constraint WHERE connamespace IN ('content'::regnamespace, 'ugc'::regnamespace, 'auth'::regnamespace)
    UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname IN ('content', 'ugc', 'auth')
    UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE NOT tgisinternal AND c.relnamespace IN ('content'::regnamespace, 'ugc'::regnamespace, 'auth'::regnamespace)
    ORDER BY 1`)
}

/** As psql reads the file: statements, and the rows after each COPY up to a line with a backslash and a period. */
async function play(client: Client, text: string): Promise<void> {
  const lines = text.split('\n').filter((line) => !line.startsWith('\\set'))
  for (let at = 0, statement: string[] = []; at < lines.length; at++) {
    if (!/^COPY .* FROM stdin;$/.test(lines[at]!)) {
      statement.push(lines[at]!)
      if (at === lines.length - 1) await client.query(statement.join('\n'))
      continue
    }
    await client.query(statement.join('\n'))
    statement = []
    const end = lines.indexOf('\\.', at)
    const rows = lines.slice(at + 1, end).map((line) => `${line}\n`)
    await pipeline(Readable.from(rows), client.query(copyFrom(lines[at]!.replace(/;$/, ''))))
    at = end
  }
}

async function hasPsql(): Promise<boolean> {
  return run('psql', ['--version']).then(
    () => true,
    () => false,
  )
}

describe('the sample data as one file of SQL (R1.5)', () => {
  /** Loads the file into an empty database and compares it with what the demo has. */
  async function expectSample(load: (database: TestDatabase) => Promise<unknown>): Promise<void> {
    const database = await aDatabase({ migrated: false })
    await load(database)
    const demo = await aDatabase({ cinema: true })
    expect(await signature(database)).toEqual(await signature(demo))
    expect(await rules(database)).toEqual(await rules(demo))
  }

  it('is loaded by psql and equals what the demo loads', async ({ skip }) => {
    skip(!(await hasPsql()), 'psql is not installed')
    await expectSample(({ url }) => run('psql', ['-X', '-q', '-f', FILE, url]))
  })

  it('is loaded by any client that supports COPY, with the same result', async () => {
    await expectSample(async (database) => play(await database.client(), await readFile(FILE, 'utf8')))
  })

  it('changes nothing if the tables have rows', async ({ skip }) => {
    skip(!(await hasPsql()), 'psql is not installed')
    const database = await aDatabase({ cinema: true })
    const before = await signature(database)
    await expect(run('psql', ['-X', '-q', '-f', FILE, database.url])).rejects.toMatchObject({
      stderr: expect.stringMatching(/duplicate key value violates unique constraint/),
    })
    expect(await signature(database)).toEqual(before)
  })
})
