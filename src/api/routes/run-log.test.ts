import { expect, it } from 'vitest'
import { anApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase } from '../../../tests/support/database.js'
import { aRunner } from '../../../tests/support/runner.js'
import { run } from '../../../tests/support/runs.js'
import { waitFor } from '../../../tests/support/wait.js'

it('keeps the log lines of a run, and deletes them with the run', async () => {
  const database = await aDatabase({ cinema: true })
  const api = anApi(database.loginUrl('meta'))
  const { id } = await aPipeline(database, {
    sourceQuery: 'SELECT id AS film_id, 1 / 0 AS title FROM content.film_work',
  })
  await aRunner(database)
  const failed = await run(database, id)
  expect(failed.status).toBe('FAILED')
  const log = await waitFor(
    async () => {
      const { items } = (await api.get(`/runs/${failed.id}/log`)).json()
      return items.some((line: { level: string }) => line.level === 'error') ? items : null
    },
    { what: 'the log of the run' },
  )
  expect(log[0]).toMatchObject({ level: 'info', message: 'Run started.' })
  expect(log.at(-1).fields.error, 'the reason itself, not only its code').toContain('division by zero')
  const errors = (await api.get(`/runs/${failed.id}/log?errors_only=true`)).json().items
  expect(errors.length).toBeLessThan(log.length)
  await database.query("UPDATE etl.etl_runs SET finished_at = now() - interval '100 days' WHERE id = $1", [
    failed.id,
  ])
  expect((await run(database, id)).status).toBe('FAILED')
  const again = anApi(database.loginUrl('meta'), { runsDays: 90 })
  await again.app.ready()
  await waitFor(async () => (await again.get(`/runs/${failed.id}`)).statusCode === 404, {
    what: 'the old run to be deleted',
  })
})
