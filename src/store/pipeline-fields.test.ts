import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { aPipeline } from '../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import {
  FIELD_DEFAULTS,
  PIPELINE_FIELD_NAMES,
  PIPELINE_FIELDS,
  type PipelineField,
} from '../model/pipeline-fields.js'
import { valuesOfSpec } from '../model/pipeline-spec.js'
import { findPipeline } from './catalog/find.js'
import { Database } from './database.js'

let database: TestDatabase
beforeAll(async () => {
  database = await aDatabase()
})

/** Where any value of the right type is not enough. */
const OTHER_VALUES: Partial<Record<PipelineField, unknown>> = {
  source_query: 'SELECT 2 AS film_id',
  source_table: 'content.film_work',
  target_table: 'analytics.elsewhere',
  tags: ['heavy'],
  after: ['film_dim'],
  checks: JSON.stringify([{ name: 'few', type: 'row_count', max: 5, on_failure: 'warn' }]),
  parallelism: 4,
  freshness: '5m',
  engine_options: { profile: 'cluster' },
  schedule_interval: '15m',
  schedule_timezone: 'Europe/Moscow',
}

function otherValue(name: PipelineField): unknown {
  if (name === 'name') return randomUUID()
  return OTHER_VALUES[name] ?? valueLike(PIPELINE_FIELDS[name].schema)
}

/** A value of this schema that is not its default. */
function valueLike(schema: z.ZodType): unknown {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return valueLike(schema.unwrap() as z.ZodType)
  if (schema instanceof z.ZodEnum) return schema.options[1]
  if (schema instanceof z.ZodLiteral) return schema.value
  if (schema instanceof z.ZodBoolean) return null
  if (schema instanceof z.ZodNumber) return 1
  if (schema instanceof z.ZodArray) return [valueLike(schema.element as z.ZodType)]
  if (schema instanceof z.ZodRecord) return { a: 1 }
  if (schema instanceof z.ZodUnion) return valueLike(schema.options[0] as z.ZodType)
  return 'other'
}

/** Only a pipeline that reads a table has columns of it. */
function aPipelineWith(name: PipelineField) {
  const readsTable = ['source_table', 'source_columns'].includes(name)
  return aPipeline(database, readsTable ? { sourceQuery: null, sourceTable: 'content.genre' } : {})
}

async function change(id: string, name: PipelineField): Promise<void> {
  const value = otherValue(name)
  const [text, values] = value === null ? [`NOT ${name}`, [id]] : ['$2', [id, value]]
  await database.query(`UPDATE etl.etl_pipelines SET ${name} = ${text} WHERE id = $1`, values)
}

async function versionOf(id: string): Promise<number | undefined> {
  const [row] = await database.query<{ config_version: number }>(
    'SELECT config_version FROM etl.etl_pipelines WHERE id = $1',
    [id],
  )
  return row?.config_version
}

describe('the fields of a pipeline', () => {
  it('are the configuration that the database versions', async () => {
    const [row] = await database.query<{ names: string[] }>(
      'SELECT array_agg(field) AS names FROM etl.etl_pipelines p, jsonb_object_keys(etl.pipeline_spec(p)) AS field WHERE p.id = $1',
      [(await aPipeline(database)).id],
    )
    expect(row?.names.toSorted()).toEqual([...PIPELINE_FIELD_NAMES, 'managed_by', 'tasks'].toSorted())
  })

  it('have the same defaults in the database and in the API', async () => {
    const [row] = await database.query<{ id: string }>(
      `INSERT INTO etl.etl_pipelines (name, source_query, target_table) VALUES ('plain', '', 'analytics.plain') RETURNING id`,
    )
    const store = new Database(database.url, { name: 'fields', size: 1 })
    const pipeline = await findPipeline(store, row!.id).finally(() => store.close())
    expect(valuesOfSpec(pipeline!)).toMatchObject(FIELD_DEFAULTS)
  })

  for (const name of PIPELINE_FIELD_NAMES.filter((name) => name !== 'source_type')) {
    const rule = PIPELINE_FIELDS[name].change
    it(`make a new version: ${name}`, async () => {
      const { id } = await aPipelineWith(name)
      await change(id, name)
      expect(await versionOf(id)).toBe(2)
    })

    it(`${rule === 'always' ? 'may' : 'cannot'} change during a run: ${name}`, async () => {
      const { id } = await aPipelineWith(name)
      for (const status of ['RUN_REQUESTED', 'RUNNING'])
        await database.query('UPDATE etl.etl_pipelines SET status = $2 WHERE id = $1', [id, status])
      const changed = change(id, name)
      if (rule === 'always') await changed
      else await expect(changed).rejects.toMatchObject({ code: 'VT002' })
      expect(await versionOf(id)).toBe(rule === 'always' ? 2 : 1)
    })
  }
})
