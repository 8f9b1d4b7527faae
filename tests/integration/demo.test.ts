import { describe, expect, it } from 'vitest'
import { DEMO_PIPELINES } from '../../src/cinema/pipelines.js'
import { aDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { spawnVitrina } from '../support/processes.js'

describe('vitrina demo', () => {
  it('builds every mart with the real parts, verifies them and ends, twice', async () => {
    const folder = await aFolder()
    for (const round of ['first', 'second']) {
      const demo = spawnVitrina(['demo', '--once'], {}, { cwd: folder })
      expect(await demo.exited, `${round}: ${demo.stderr}`).toBe(0)
      for (const { targetTable } of DEMO_PIPELINES)
        expect(demo.stdout).toMatch(new RegExp(`✓ ${targetTable} matches: \\d+ rows`))
    }
  })

  it('fails when a mart differs from its source', async () => {
    const database = await aDatabase({ cinema: true })
    const env = { DATABASE_URL: database.url, VITRINA_PORT: '0' }
    const good = spawnVitrina(['demo', '--once'], env, { cwd: await aFolder() })
    expect(await good.exited, good.stderr).toBe(0)
    // A row that no run of these pipelines would touch.
    await database.query(
      "INSERT INTO analytics.genre_dim (genre_id, name) VALUES (gen_random_uuid(), 'Stowaway')",
    )
    const bad = spawnVitrina(['demo', '--once'], env, { cwd: await aFolder() })
    expect(await bad.exited).toBe(1)
    expect(bad.stdout).toMatch(/✗ analytics.genre_dim differs: 0 rows missing or different, 1 rows too many/)
    expect(bad.stdout).toMatch(/✓ analytics.film_dim matches/)
  })

  it('leaves the pipelines IDLE, under the ids of the documents', async () => {
    const database = await aDatabase({ cinema: true })
    const demo = spawnVitrina(
      ['demo', '--once'],
      { DATABASE_URL: database.url, VITRINA_PORT: '0' },
      { cwd: await aFolder() },
    )
    expect(await demo.exited, demo.stderr).toBe(0)
    // R2.5
    expect(await database.query('SELECT id, name, status FROM etl.etl_pipelines ORDER BY id')).toEqual([
      { id: '11111111-1111-1111-1111-111111111111', name: 'film_dim_full', status: 'IDLE' },
      { id: '22222222-2222-2222-2222-222222222222', name: 'film_rating_agg_full', status: 'IDLE' },
      { id: '33333333-3333-3333-3333-333333333333', name: 'genre_dim_full', status: 'IDLE' },
    ])
  })

  it('can be stopped while it starts', async () => {
    const demo = spawnVitrina(['demo'], {}, { cwd: await aFolder() })
    await demo.waitForOutput(/Starting PostgreSQL/)
    demo.kill('SIGINT')
    expect(await demo.exited).toBe(130)
    expect(demo.stderr).toContain('Stopped by SIGINT')
  })
})

describe('vitrina generate', () => {
  it('makes what was asked for, readable for the reader at once', async () => {
    const database = await aDatabase({ migrated: false })
    const args = ['generate', '--films', '20', '--ratings', '100', '--seed', '7', '--json']
    const vitrina = spawnVitrina(args, { DATABASE_URL: database.url })
    expect(await vitrina.exited, vitrina.stderr).toBe(0)
    expect(JSON.parse(vitrina.stdout)).toMatchObject({ 'content.film_work': 20, 'ugc.ratings': 100 })
    const reader = await database.client(database.loginUrl('reader'))
    expect((await reader.query('SELECT FROM ugc.ratings')).rowCount).toBe(100)
  })
})
