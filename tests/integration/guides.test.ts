import { readFile } from 'node:fs/promises'
import type pg from 'pg'
import { expect, it } from 'vitest'
import { addDemoPipelines, readDemoPipelines } from '../../src/main/demo-data.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

const GUIDES = ['scrolling-showcase', 'incremental-without-loss', 'zero-downtime-refresh']
const AS_TEXT = { getTypeParser: () => (text: string) => text } as pg.CustomTypesConfig

/** SQL that a reader types, and what he is told to see. */
interface Block {
  readonly session: string
  readonly sql: string
  readonly shown: string[][] | null
}

it.each(GUIDES)('%s shows what really happens', async (name) => {
  const text = await readFile(new URL(`../../docs/guides/${name}.md`, import.meta.url), 'utf8')
  const database = await aDemoDatabase(text)
  const sessions = new Map<string, pg.Client>()
  const blocks = blocksOf(text)
  expect(blocks.length).toBeGreaterThan(5)
  for (const { session, sql, shown } of blocks) {
    const client = sessions.get(session) ?? (await aPsql(database))
    sessions.set(session, client)
    const results = [await client.query({ text: sql, types: AS_TEXT })].flat()
    await waitFor(async () => isQuiet(database), { what: 'the runs to end' })
    if (shown === null) continue
    const { fields, rows } = results.findLast((result) => result.fields.length > 0)!
    const head = fields.map((field) => field.name)
    expect([head, ...rows.map((row) => head.map((column) => row[column] ?? ''))], sql).toEqual(shown)
  }
  for (const client of sessions.values()) await client.end()
})

/** As `npm run demo` leaves it, as far as this guide speaks of it. */
async function aDemoDatabase(guide: string): Promise<TestDatabase> {
  const database = await aDatabase({ cinema: true })
  const pipelines = (await readDemoPipelines()).filter(
    ({ name, target }) =>
      guide.includes(name) || guide.includes(`${target}\n`) || guide.includes(`${target} `),
  )
  await addDemoPipelines({ DATABASE_URL: database.url }, pipelines)
  await aRunner(database)
  for (const { id } of pipelines) expect(await run(database, id)).toMatchObject({ status: 'SUCCESS' })
  return database
}

async function aPsql(database: TestDatabase): Promise<pg.Client> {
  const client = await database.client()
  await client.query("SET application_name = 'psql'")
  return client
}

async function isQuiet(database: TestDatabase): Promise<boolean> {
  const busy = await database.query(
    "SELECT FROM etl.etl_pipelines WHERE status IN ('RUN_REQUESTED', 'RUNNING')",
  )
  return busy.length === 0
}

function blocksOf(guide: string): Block[] {
  const found = guide.matchAll(/```sql\n([\s\S]*?)```(?:\n```text\n([\s\S]*?)```)?/g)
  return [...found].map(([, sql = '', shown]) => ({
    session: /^-- psql (\d)\n/.exec(sql)?.[1] ?? '1',
    sql,
    shown: shown === undefined ? null : cellsOf(shown),
  }))
}

/** A table as psql draws it. */
function cellsOf(table: string): string[][] {
  const [head = '', , ...rows] = table.trimEnd().split('\n')
  return [head, ...rows].map((line) => line.split('|').map((cell) => cell.trim()))
}
