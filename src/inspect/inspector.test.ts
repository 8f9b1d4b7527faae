import { expect, it, onTestFinished, vi } from 'vitest'
import { aPipeline, type PipelineOverrides } from '../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { anEngine } from '../../tests/support/spark-engine.js'
import { readSettings } from '../config/settings.js'
import { SqlGuard } from '../guard/index.js'
import type { Pipeline } from '../model/pipeline.js'
import { createTransforms } from '../transforms/index.js'
import { PipelineInspector } from './inspector.js'

const noLimit = new AbortController().signal

/** An inspector, and the queries that its guard is asked about. */
function anInspector(database: TestDatabase): { inspector: PipelineInspector; checked: () => string[] } {
  const guard = new SqlGuard({ sourceSchemas: ['content'] })
  const check = vi.spyOn(guard, 'check')
  const checked = () => check.mock.calls.map(([sql]) => sql)
  const inspector = new PipelineInspector({
    readerUrl: database.loginUrl('reader'),
    martUrl: database.loginUrl('writer'),
    connections: new Map([['dwh', database.loginUrl('writer')]]),
    targets: { tables: ['analytics.*'], kinds: [] },
    sourceSchemas: ['content'],
    guard,
    transforms: createTransforms(readSettings({ VITRINA_PYTHON_TASKS: '/nowhere' })),
    engine: anEngine(),
  })
  onTestFinished(() => inspector.close())
  return { inspector, checked }
}

async function aSavedPipeline(database: TestDatabase, overrides: PipelineOverrides): Promise<Pipeline> {
  const { id, spec } = await aPipeline(database, overrides)
  const saved = { managedBy: 'api', status: 'IDLE', configVersion: 1, createdAt: '', updatedAt: '' } as const
  return { ...spec, ...saved, id, tasks: [] }
}

it('has the query of a pipeline checked once for each validation', async () => {
  const database = await aDatabase({ cinema: true })
  const { inspector, checked } = anInspector(database)
  const pipeline = await aSavedPipeline(database, {})
  expect(await inspector.validate(pipeline, noLimit)).toMatchObject({ valid: true, way: 'pushdown' })
  expect(checked()).toEqual([pipeline.sourceQuery])
})

it('reports the route and the refused target that a run would report', async () => {
  const database = await aDatabase({ cinema: true })
  const { inspector } = anInspector(database)
  const elsewhere = await aSavedPipeline(database, { targetConnection: 'dwh' })
  expect(await inspector.validate(elsewhere, noLimit)).toMatchObject({ valid: true, way: 'relay' })
  const refused = await aSavedPipeline(database, { targetTable: 'public.mart' })
  expect(await inspector.validate(refused, noLimit)).toMatchObject({
    valid: false,
    way: null,
    errors: [{ code: 'TARGET_REFUSED', field: 'target_table' }],
  })
})
