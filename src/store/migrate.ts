import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { VitrinaError } from '../model/errors.js'
import { LimitedClient } from '../postgres/client.js'
import { lostOr } from '../postgres/errors.js'
import { checkServer } from '../postgres/server-check.js'

export interface Migration {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

const FOLDER = fileURLToPath(new URL('./migrations/', import.meta.url))
/** Concurrent migrations take turns on this advisory lock ("vitrina" in hex). */
const LOCK = 0x76697472

export function migrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const sql = readFileSync(`${FOLDER}/${file}`, 'utf8')
      return {
        name: file.replace(/\.sql$/, ''),
        sql,
        checksum: createHash('sha256').update(sql).digest('hex'),
      }
    })
}

/** Applies missing migrations, each in its own transaction. Returns the names of those it applied. */
export async function migrate(administratorUrl: string): Promise<string[]> {
  const client = new LimitedClient({
    connectionString: administratorUrl,
    application_name: 'vitrina-migrate',
    connectionTimeoutMillis: 10_000,
  })
  try {
    await client.connect()
    // The lock below belongs to a session: a pooler in transaction mode would never release it.
    await checkServer(client, administratorUrl)
    await client.query('SELECT pg_advisory_lock($1)', [LOCK])
    await client.query(`
      CREATE SCHEMA IF NOT EXISTS etl;
      CREATE TABLE IF NOT EXISTS etl.schema_migrations (
        name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`)
    const applied: string[] = []
    for (const migration of await pending(client)) {
      await apply(client, migration)
      applied.push(migration.name)
    }
    return applied
  } catch (error) {
    throw lostOr(error)
  } finally {
    // Ends the session, and with it the lock.
    await client.end().catch(() => {})
  }
}

async function pending(client: pg.Client): Promise<Migration[]> {
  const { rows } = await client.query<{ name: string; checksum: string }>(
    'SELECT name, checksum FROM etl.schema_migrations',
  )
  const known = new Map(rows.map((row) => [row.name, row.checksum]))
  const missing = migrations().filter((migration) => {
    const checksum = known.get(migration.name)
    if (checksum !== undefined && checksum !== migration.checksum) throw changed(migration.name)
    return checksum === undefined
  })
  const newest = [...known.keys()].sort().at(-1)
  const ours = migrations().at(-1)?.name ?? ''
  if (newest !== undefined && newest > ours) {
    throw new VitrinaError(
      'MIGRATION_MISSING',
      `The database was migrated by a newer Vitrina: it has ${newest}, this version has ${ours}.`,
      'Upgrade this program to the version that migrated the database.',
    )
  }
  return missing
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('BEGIN')
  try {
    await client.query(migration.sql)
    await client.query('INSERT INTO etl.schema_migrations (name, checksum) VALUES ($1, $2)', [
      migration.name,
      migration.checksum,
    ])
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  }
}

function changed(name: string): VitrinaError {
  return new VitrinaError(
    'MIGRATION_CHANGED',
    `Migration ${name} has been modified since it was applied.`,
    'Restore the file and put the change into a new migration.',
  )
}

/** Throws unless the database is at the version that this program needs. */
export async function requireMigrated(query: (sql: string) => Promise<{ name: string }[]>): Promise<void> {
  const applied = await query('SELECT name FROM etl.schema_migrations').catch((error: { code?: string }) => {
    if (error.code === '42P01' || error.code === '3F000') return []
    throw error
  })
  const missing = migrations().find(({ name }) => !applied.some((row) => row.name === name))
  if (missing !== undefined) {
    throw new VitrinaError(
      'MIGRATION_MISSING',
      `The database lacks migration ${missing.name}.`,
      'Run "vitrina migrate" with DATABASE_URL set.',
    )
  }
}
