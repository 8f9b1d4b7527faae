import { describe, expect, inject, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase } from '../support/database.js'
import { waitFor } from '../support/wait.js'

describe('the test harness', () => {
  it('provides a migrated database for every test', async () => {
    const [one, other] = await Promise.all([aDatabase(), aDatabase()])
    const { id } = await aPipeline(one)
    const pipelines = (database: typeof one) =>
      database.query<{ id: string }>('SELECT id FROM etl.etl_pipelines')
    expect(await pipelines(one)).toEqual([{ id }])
    expect(await pipelines(other)).toEqual([])
  })

  it('provides the sample cinema, readable for the reader', async () => {
    const database = await aDatabase({ cinema: true })
    const reader = await database.client(database.loginUrl('reader'))
    const { rows } = await reader.query('SELECT count(*)::int AS films FROM content.film_work')
    expect(rows[0].films).toBeGreaterThan(10)
  })

  it('provides an empty database', async () => {
    const database = await aDatabase({ migrated: false })
    expect(await database.query("SELECT FROM pg_namespace WHERE nspname = 'etl'")).toEqual([])
  })

  it('keeps the data of the server in memory where there is enough, whatever account it runs under', async () => {
    const [row] = await (await aDatabase()).query<{ folder: string }>(
      "SELECT current_setting('data_directory') AS folder",
    )
    expect(row!.folder.startsWith('/dev/shm/')).toBe(inject('server').isInMemory ?? false)
  })

  it('names what was waited for', async () => {
    const wait = waitFor(async () => null, { what: 'Godot', timeoutMs: 50 })
    await expect(wait).rejects.toThrow('waited 0.05 s for Godot; last seen: null')
  })

  it('fails a test that leaves a connection of Vitrina open', async () => {
    const database = await aDatabase()
    const url = new URL(database.url)
    url.searchParams.set('application_name', 'vitrina-api')
    const forgotten = await (await aDatabase()).client(url.href)
    await expect(database.drop()).rejects.toThrow('the test left connections open: vitrina-api')
    await forgotten.end().catch(() => {})
  })
})
