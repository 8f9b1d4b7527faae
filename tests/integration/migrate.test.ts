import { describe, expect, it } from 'vitest'
import { migrate, migrations } from '../../src/store/migrate.js'
import { aDatabase } from '../support/database.js'
import { spawnVitrina } from '../support/processes.js'

describe('vitrina migrate', () => {
  it('says what it applied, and changes nothing the second time', async () => {
    const database = await aDatabase({ migrated: false })
    const first = spawnVitrina(['migrate'], { DATABASE_URL: database.url })
    expect(await first.exited).toBe(0)
    expect(first.stderr).toContain('Applied 0001_meta_store')
    const applied = () => database.query('SELECT * FROM etl.schema_migrations ORDER BY name')
    const before = await applied()
    const second = spawnVitrina(['migrate'], { DATABASE_URL: database.url })
    expect(await second.exited).toBe(0)
    expect(second.stderr).toContain('All migrations were there already')
    expect(await applied()).toEqual(before)
  })

  it('lets two processes that migrate at once take turns', async () => {
    const { url } = await aDatabase({ migrated: false })
    const applied = await Promise.all([migrate(url), migrate(url), migrate(url)])
    expect(applied.flat()).toEqual(migrations().map(({ name }) => name))
  })

  it('refuses a database whose migrations have another text', async () => {
    const database = await aDatabase()
    await database.query("UPDATE etl.schema_migrations SET checksum = 'other'")
    const vitrina = spawnVitrina(['migrate'], { DATABASE_URL: database.url })
    expect(await vitrina.exited).toBe(1)
    expect(vitrina.stderr).toMatch(/VTR-1005 MIGRATION_CHANGED: Migration 0001_meta_store/)
  })

  it('refuses a database that a newer program migrated', async () => {
    const database = await aDatabase()
    await database.query("INSERT INTO etl.schema_migrations (name, checksum) VALUES ('9999_future', 'x')")
    await expect(migrate(database.url)).rejects.toMatchObject({
      code: 'MIGRATION_MISSING',
      message: expect.stringContaining('9999_future'),
    })
  })
})
