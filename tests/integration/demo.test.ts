import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readDemoPipelines } from '../../src/main/demo-data.js'
import { aDatabase } from '../support/database.js'
import { answerTo, shows } from '../support/document-blocks.js'
import { aFolder } from '../support/folders.js'
import { spawnProgram, spawnVitrina } from '../support/processes.js'

const marts = (await readDemoPipelines()).filter(({ target }) => !target.startsWith('es:'))

describe('vitrina demo', () => {
  it('builds every mart with the real parts, shows the first rows of each, verifies them and ends, twice', async () => {
    const folder = await aFolder()
    // R7.7: as a user runs it, with errors and output in one stream, as on a screen.
    const first = spawnProgram(['bash', '-c', 'npm run demo -- --once 2>&1'], {
      VITRINA_HOME: join(folder, '.vitrina'),
    })
    expect(await first.exited, first.stdout).toBe(0)
    expectAsInReadme(first.stdout)
    const second = spawnVitrina(['demo', '--once'], {}, { cwd: folder })
    expect(await second.exited, second.stderr).toBe(0)
    expect(second.stderr).toContain(
      'Skipped es:film_dim and es:film_rating_agg: no Elasticsearch is configured.',
    )
    const lines = second.stdout.split('\n')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: plain text where no terminal is.
    expect(lines.filter((line) => line.length > 100 || /\x1b/.test(line))).toEqual([])
    for (const { stdout } of [first, second])
      for (const { target } of marts) {
        expect(stdout).toMatch(new RegExp(`\n${target}  [\\d,]+ source rows → \\d+ mart rows in \\d`))
        expect(stdout).toMatch(new RegExp(`✓ ${target} matches: \\d+ rows`))
      }
  }, 120_000)

  it('skips the mart that needs Python where Python is missing, and names the remedy', async () => {
    const database = await aDatabase({ cinema: true })
    const demo = await ended({ DATABASE_URL: database.url, VITRINA_PYTHON: '/nowhere/python3' })
    expect(demo.code).toBe(0)
    expect(demo.stderr).toMatch(/Skipped audience_segments: .*\n.*Python 3\.9/)
    expect(demo.stdout).not.toContain('audience_segments')
    expect(demo.stdout).toContain('✓ analytics.scrolling_showcase matches')
  })

  it('leaves the pipelines IDLE, under the ids of the documents, and fails when a mart differs from its source', async () => {
    const database = await aDatabase({ cinema: true })
    expect(await ended({ DATABASE_URL: database.url })).toMatchObject({ code: 0 })
    const found = await database.query('SELECT id, name, status FROM etl.etl_pipelines ORDER BY id')
    // R2.5
    expect(found.slice(0, 2)).toEqual([
      { id: '11111111-1111-1111-1111-111111111111', name: 'film_dim_full', status: 'IDLE' },
      { id: '22222222-2222-2222-2222-222222222222', name: 'film_rating_agg_full', status: 'IDLE' },
    ])
    expect(found).toEqual(marts.map(({ id, name }) => ({ id, name, status: 'IDLE' })))
    // A value changes on its way to the mart.
    await database.query(`
      CREATE FUNCTION analytics.shout() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN NEW.name := pg_catalog.upper(NEW.name); RETURN NEW; END $$;
      CREATE TRIGGER shout BEFORE INSERT OR UPDATE ON analytics.genre_dim FOR EACH ROW EXECUTE FUNCTION analytics.shout();
      UPDATE analytics.genre_dim SET name = name WHERE name = 'Drama'`)
    const demo = await ended({ DATABASE_URL: database.url })
    expect(demo.code).toBe(1)
    expect(demo.stdout).toMatch(
      /✗ analytics.genre_dim differs: [1-9]\d* rows missing or different, 0 extra rows/,
    )
    expect(demo.stdout).toMatch(/✓ analytics.film_dim matches/)
  }, 120_000)

  it('can be stopped while it starts', async () => {
    const demo = spawnVitrina(['demo'], {}, { cwd: await aFolder() })
    await demo.waitForOutput(/Starting PostgreSQL/)
    demo.kill('SIGINT')
    expect(await demo.exited).toBe(130)
    expect(demo.stderr).toContain('Stopped by SIGINT')
  })
})

describe('vitrina generate', () => {
  it('creates the requested rows, readable for the reader at once', async () => {
    const database = await aDatabase({ migrated: false })
    const args = ['generate', '--films', '20', '--ratings', '100', '--seed', '7', '--json']
    const vitrina = spawnVitrina(args, { DATABASE_URL: database.url })
    expect(await vitrina.exited, vitrina.stderr).toBe(0)
    expect(JSON.parse(vitrina.stdout)).toMatchObject({ 'content.film_work': 20, 'ugc.ratings': 100 })
    const reader = await database.client(database.loginUrl('reader'))
    expect((await reader.query('SELECT FROM ugc.ratings')).rowCount).toBe(100)
  })
})

/** Except what npm installs and builds before: that depends on the clone. */
function expectAsInReadme(printed: string): void {
  const shown = answerTo('README.md', 'npm run demo -- --once')
  const story = shown.slice(shown.indexOf('• Creating'))
  expect(shows(story, printed), `README.md shows\n${story}\nand gives\n${printed}`).toBe(true)
}

/** One complete demo, in its own folder and on its own port. */
async function ended(env: Record<string, string>): Promise<{ code: number; stdout: string; stderr: string }> {
  const demo = spawnVitrina(['demo', '--once'], { VITRINA_PORT: '0', ...env }, { cwd: await aFolder() })
  const code = await demo.exited
  return { code, stdout: demo.stdout, stderr: demo.stderr }
}
