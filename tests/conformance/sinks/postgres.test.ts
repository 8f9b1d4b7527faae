import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inTurn } from '../../support/sample.js'
import type { SeenRow } from '../../support/sink-servers.js'
import { IN_ONE_SERVER, sinkSuite } from './suite.js'

const UNCHANGED = "import { task } from 'vitrina'\ntask('unchanged', {}, (rows) => rows)\n"

sinkSuite({
  name: 'PostgreSQL, by the rows way',
  place: 3,
  crashes: inTurn(IN_ONE_SERVER, 0),
  start: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vitrina-unchanged-'))
    await writeFile(join(folder, 'unchanged.ts'), UNCHANGED)
    return {
      env: { VITRINA_TYPESCRIPT_TASKS: folder },
      transform: 'unchanged',
      target: (name) => `analytics.${name}`,
      read: async (database, name) => {
        const [table] = await database.query<{ found: string | null }>(
          'SELECT to_regclass($1)::text AS found',
          [`analytics.${name}`],
        )
        if (table!.found === null) return null
        return database.query<SeenRow & Record<string, unknown>>(
          `SELECT id::text, title, n::text FROM analytics.${name} ORDER BY id`,
        )
      },
      tamper: async (database, name) => {
        await database.query(`DELETE FROM analytics.${name} WHERE id = 1`)
        await database.query(`UPDATE analytics.${name} SET title = 'wrong' WHERE id = 2`)
        await database.query(
          `INSERT INTO analytics.${name} SELECT 9999, title, n, modified FROM analytics.${name} LIMIT 1`,
        )
      },
      close: () => rm(folder, { recursive: true, force: true }),
    }
  },
})
