import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { requestRun, run, runEnded } from '../support/runs.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand({ hasRunner: false })
const browser = aBrowser()

describe('a run that is cut into parts', () => {
  it('shows them as lanes while they are executed and afterwards', async () => {
    const { database } = stand()
    const { id, spec } = await aPipeline(database, { parallelism: 3 })
    stand().runner({ RUNNER_CONCURRENCY: '1' })
    await run(database, id)
    const [{ first }] = (await database.query(
      `UPDATE ${spec.targetTable} SET title = 'old' RETURNING (SELECT min(film_id::text) FROM ${spec.targetTable}) AS first`,
    )) as [{ first: string }]
    const holder = await database.client()
    await holder.query('BEGIN')
    await holder.query(`SELECT FROM ${spec.targetTable} WHERE film_id = $1 FOR UPDATE`, [first])
    const runId = await requestRun(database, id)
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/runs/${runId}`)
    const parts = page.getByRole('region', { name: 'Parts', exact: true }).first()
    await parts.getByText('0 of 3 committed').waitFor()
    await parts.getByText('running', { exact: true }).waitFor()
    expect(await parts.getByText('waiting', { exact: true }).count()).toBe(2)

    await holder.query('COMMIT')
    await runEnded(database, runId)
    await parts.getByText('3 of 3 committed').waitFor()
    expect(await parts.getByText('committed', { exact: true }).count()).toBe(3)
    expect(complaints).toEqual([])
  })
})
