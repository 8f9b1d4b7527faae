import { describe, expect, it } from 'vitest'
import { migrate, migrations } from '../../src/store/migrate.js'
import { runCommand } from '../support/commands.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { spawnVitrina } from '../support/processes.js'

describe('vitrina migrate', () => {
  it('reports what it applied, and changes nothing the second time', async () => {
    const database = await aDatabase({ migrated: false })
    const first = spawnVitrina(['migrate'], { DATABASE_URL: database.url })
    expect(await first.exited).toBe(0)
    expect(first.stderr).toContain('Applied 0001_meta_store')
    const applied = () => database.query('SELECT * FROM etl.schema_migrations ORDER BY name')
    const before = await applied()
    const second = await runCommand(['migrate'], { DATABASE_URL: database.url })
    expect(second.code).toBe(0)
    expect(second.stderr).toContain('The meta store is already up to date')
    expect(await applied()).toEqual(before)
  })

  it('makes two processes that migrate at once take turns', async () => {
    const { url } = await aDatabase({ migrated: false })
    const applied = await Promise.all([migrate(url), migrate(url), migrate(url)])
    expect(applied.flat()).toEqual(migrations().map(({ name }) => name))
  })

  it('rejects a database whose migrations have been modified', async () => {
    const database = await aDatabase()
    await database.query("UPDATE etl.schema_migrations SET checksum = 'other'")
    const vitrina = await runCommand(['migrate'], { DATABASE_URL: database.url })
    expect(vitrina.code).toBe(1)
    expect(vitrina.stderr).toMatch(/VTR-1005 MIGRATION_CHANGED: Migration 0001_meta_store/)
  })

  it('rejects a database that a newer program migrated', async () => {
    const database = await aDatabase()
    await database.query("INSERT INTO etl.schema_migrations (name, checksum) VALUES ('9999_future', 'x')")
    await expect(migrate(database.url)).rejects.toMatchObject({
      code: 'MIGRATION_MISSING',
      message: expect.stringContaining('9999_future'),
    })
  })
})

/** As an older program left it. */
async function migratedUpTo(database: TestDatabase, last: string): Promise<void> {
  await database.query(`CREATE SCHEMA etl; CREATE TABLE etl.schema_migrations (
    name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`)
  for (const { name, sql, checksum } of migrations().filter((one) => one.name <= last)) {
    await database.query(sql)
    await database.query('INSERT INTO etl.schema_migrations (name, checksum) VALUES ($1, $2)', [
      name,
      checksum,
    ])
  }
}

describe('0012_task_plan_rules', () => {
  it('keeps plans that break the rules unchanged, and sets the type of a plan with functions', async () => {
    const database = await aDatabase({ migrated: false })
    await migratedUpTo(database, '0011_comparisons')
    const tasks: Record<string, readonly [number, string, string, string | null][]> = {
      lower: [
        [1, 'SQL', 'SELECT 1', null],
        [2, 'python', 'shout', null],
      ],
      twice: [
        [-1, 'SQL', 'SELECT 1', 'analytics.x'],
        [2, 'SQL', ' ', null],
      ],
      untyped: [
        [1, 'SQL', 'SELECT 1', null],
        [2, 'PYTHON', 'shout', null],
      ],
    }
    for (const [name, rows] of Object.entries(tasks)) {
      await database.query("INSERT INTO etl.etl_pipelines (name, target_table) VALUES ($1, 'analytics.x')", [
        name,
      ])
      for (const row of rows)
        await database.query(
          `INSERT INTO etl.etl_pipeline_tasks (pipeline_id, order_index, task_type, body, target_table)
           SELECT id, $2, $3, $4, $5 FROM etl.etl_pipelines WHERE name = $1`,
          [name, ...row],
        )
    }
    for (const status of ['RUN_REQUESTED', 'RUNNING'])
      await database.query("UPDATE etl.etl_pipelines SET status = $1 WHERE name = 'untyped'", [status])
    const planned = () =>
      database.query(
        'SELECT order_index, task_type, body, target_table FROM etl.etl_pipeline_tasks ORDER BY id',
      )
    const before = await planned()
    const versions = () => database.query('SELECT name, config_version FROM etl.etl_pipelines ORDER BY name')
    const numbers = await versions()

    expect(await migrate(database.url)).toContain('0012_task_plan_rules')
    expect(await planned()).toEqual(before)
    expect(await versions()).toEqual(numbers)
    expect(await database.query('SELECT name, type, status FROM etl.etl_pipelines ORDER BY name')).toEqual([
      { name: 'lower', type: 'SQL', status: 'IDLE' },
      { name: 'twice', type: 'SQL', status: 'IDLE' },
      { name: 'untyped', type: 'PYTHON', status: 'RUNNING' },
    ])
    // A plan can be corrected row by row, and is checked as a whole from then on.
    await database.query("UPDATE etl.etl_pipeline_tasks SET task_type = 'PYTHON' WHERE task_type = 'python'")
    await expect(
      database.query("UPDATE etl.etl_pipeline_tasks SET body = 'SELECT 2' WHERE body = ' '"),
    ).rejects.toMatchObject({ code: 'VT004' })
    await database.query("DELETE FROM etl.etl_pipeline_tasks WHERE body = ' '")
    const [lower] = await database.query("SELECT type FROM etl.etl_pipelines WHERE name = 'lower'")
    expect(lower).toEqual({ type: 'PYTHON' })
  })
})
