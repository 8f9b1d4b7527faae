import { join } from 'node:path'
import type { TestDatabase } from '../support/database.js'
import { ROOT } from '../support/document-blocks.js'
import { aFolder } from '../support/folders.js'
import { freePorts } from '../support/ports.js'
import type { Stage } from '../support/read-through.js'

/** A working folder and a free port. No server yet: some documents start it themselves. */
export async function aStage(database: TestDatabase): Promise<Stage> {
  const [port] = await freePorts(1)
  return {
    folder: await aFolder(),
    database,
    env: {
      VITRINA_PORT: String(port),
      VITRINA_URL: `http://127.0.0.1:${port}`,
      RUNNER_POLL_INTERVAL_MS: '100',
    },
    instead: [
      ['127.0.0.1:8080', `127.0.0.1:${port}`],
      ['examples/cinema/', join(ROOT, 'examples/cinema/')],
      ["'./dist/", `'${ROOT}/dist/`],
    ],
  }
}

/** The same, where documents do not say which database. */
export async function aStageOn(database: TestDatabase): Promise<Stage> {
  const stage = await aStage(database)
  return { ...stage, env: { ...stage.env, DATABASE_URL: database.url } }
}
