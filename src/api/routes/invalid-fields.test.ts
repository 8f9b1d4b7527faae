import { beforeAll, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline, type PipelineOverrides } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { sinkKinds } from '../../sinks/index.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  api = anApi(database.loginUrl('meta'), {
    readerUrl: database.loginUrl('reader'),
    // The options are read before any request to the server.
    kinds: sinkKinds({ ELASTICSEARCH_URL: 'http://127.0.0.1:1' }),
  })
})

/** Only rows that were written with SQL: the API does not save them. */
it.each<[string, PipelineOverrides, string]>([
  ['an invalid schedule', { scheduleInterval: 'often' }, 'schedule_interval'],
  [
    'an unknown time zone',
    { scheduleInterval: '0 6 * * *', scheduleTimezone: 'Mars/Base' },
    'schedule_timezone',
  ],
  ['no query', { sourceQuery: ' ' }, 'source_query'],
  ['no incremental key', { mode: 'incremental' }, 'incremental_key'],
  [
    'options unknown to the target',
    { targetTable: 'es:film_dim', targetOptions: { nonsense: 1 } },
    'target_options',
  ],
])('PIPELINE_INVALID names the field: %s', async (_what, overrides, field) => {
  const { id } = await aPipeline(database, overrides)
  expect((await api.post(`/pipelines/${id}/validate`)).json()).toMatchObject({
    valid: false,
    errors: [{ code: 'PIPELINE_INVALID', field }],
  })
})
