import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { aDatabase } from '../../tests/support/database.js'
import { describeSchema } from './describe-schema.js'

it('the migrations create what schema.sql shows', async ({ skip }) => {
  const database = await aDatabase()
  const [server] = await database.query<{ major: number }>(
    "SELECT current_setting('server_version_num')::int / 10000 AS major",
  )
  skip(
    server?.major !== 18,
    'schema.sql was written by PostgreSQL 18, and other versions spell definitions differently',
  )
  const golden = await readFile(new URL('./schema.sql', import.meta.url), 'utf8')
  const made = await describeSchema((sql) => database.query(sql))
  expect(golden.slice(golden.indexOf('\n\n') + 2), 'run "npm run gen" and check the difference').toBe(made)
})
