import { describe, expect, it } from 'vitest'
import type { Pipeline, SourceTables } from '../../api/wire.js'
import { suggestions, tableBehind } from './completion.js'
import {
  BLANK,
  queryOf,
  readsTable,
  type Spec,
  specOf,
  stepsOf,
  tableAddress,
  typedNumber,
  withQuery,
  withSteps,
} from './spec.js'
import { growingColumns, suggestKey, suggestName, suggestTarget, withSuggestions } from './suggest.js'
import { chosenFields, mergeOf } from './three-way.js'

const column = (name: string, type = 'text') => ({ name, type, not_null: false })
const TABLES: SourceTables['items'] = [
  {
    schema: 'content',
    name: 'film_work',
    kind: 'table',
    rows: 71,
    columns: [column('id', 'uuid'), column('title')],
  },
  {
    schema: 'ugc',
    name: 'ratings',
    kind: 'view',
    rows: null,
    columns: [column('film_id', 'uuid'), column('Rate')],
  },
]
const labels = (before: string, after = '') =>
  suggestions(before, before + after, TABLES).map(({ label }) => label)

describe('completion', () => {
  it('offers tables by their qualified name, and the columns of tables in the text', () => {
    expect(labels('SELECT ')).toEqual(['content.film_work', 'ugc.ratings'])
    expect(labels('SELECT ', ' FROM ugc.ratings')).toEqual([
      'content.film_work',
      'ugc.ratings',
      'film_id',
      '"Rate"',
    ])
  })

  it('completes after a dot: tables of a schema, columns of a table or its alias', () => {
    expect(labels('SELECT * FROM content.')).toEqual(['film_work'])
    expect(labels('SELECT f.ti', ' FROM content.film_work AS f')).toEqual(['id', 'title'])
    expect(labels('SELECT r.', ' FROM content.film_work f JOIN ugc.ratings r ON true')).toEqual([
      'film_id',
      '"Rate"',
    ])
    expect(labels('SELECT unknown.', ' FROM content.film_work f')).toEqual([])
  })

  it('does not match a prefix of an alias', () => {
    expect(tableBehind('f', 'FROM content.film_work films', TABLES)).toBeNull()
  })
})

describe('suggestions', () => {
  const columns = [
    { name: 'film_id', type: 'uuid' },
    { name: 'views', type: 'bigint' },
    { name: 'created', type: 'timestamp with time zone' },
    { name: 'modified', type: 'timestamp with time zone' },
  ]

  it('follow from the query until the user sets a value', () => {
    const spec = { ...BLANK, source_query: 'select f.id\nfrom "content"."Film_Work" f' }
    const facts = { columns, targets: ['marts.exact', 'analytics.*'] }
    expect(withSuggestions(spec, new Set(), facts)).toMatchObject({
      name: 'film_work_mart',
      target_table: 'analytics.film_work_mart',
      key_columns: ['film_id'],
    })
    expect(
      withSuggestions({ ...spec, name: 'films' }, new Set(['name', 'key_columns'] as const), facts),
    ).toMatchObject({
      name: 'films',
      target_table: 'analytics.films',
      key_columns: [],
    })
  })

  it('contain an incremental key once the columns are known', () => {
    const spec: Spec = { ...BLANK, mode: 'incremental' }
    expect(withSuggestions(spec, new Set(), { columns, targets: [] }).incremental_key).toBe('modified')
    expect(withSuggestions(BLANK, new Set(), { columns, targets: [] }).incremental_key).toBeNull()
  })

  it('are empty without information', () => {
    expect([suggestName('SELECT 1'), suggestTarget('', ['analytics.*']), suggestKey([])]).toEqual([
      '',
      '',
      [],
    ])
    expect(suggestTarget('films', ['marts.exact'])).toBe('marts.exact')
  })

  it('list columns that increase with changes first', () => {
    expect(growingColumns(columns)).toEqual(['modified', 'created', 'views', 'film_id'])
  })
})

describe('a task plan', () => {
  it('starts with the query once there is a step, and is removed with the last step', () => {
    const spec: Spec = { ...BLANK, source_query: 'SELECT 1' }
    const planned = { ...spec, ...withSteps(spec, ['trim', 'rate']) }
    expect(planned.tasks.map(({ task_type, body }) => [task_type, body])).toEqual([
      ['SQL', 'SELECT 1'],
      ['PYTHON', 'trim'],
      ['PYTHON', 'rate'],
    ])
    const edited = { ...planned, ...withQuery(planned, 'SELECT 2') }
    expect([queryOf(edited), stepsOf(edited)]).toEqual(['SELECT 2', ['trim', 'rate']])
    expect(withSteps(edited, [])).toEqual({ tasks: [], source_query: 'SELECT 2' })
  })

  it('starts with the query of the table, which is then its only source', () => {
    const address = tableAddress({ schema: 'content', name: 'Film Work' })
    const spec: Spec = {
      ...BLANK,
      source_query: null,
      source_table: address,
      source_columns: ['id', 'Full Title'],
    }
    expect([readsTable(spec), queryOf(spec)]).toEqual([
      true,
      'SELECT id, "Full Title" FROM content."Film Work"',
    ])
    const planned = { ...spec, ...withSteps(spec, ['trim']) }
    expect(planned).toMatchObject({ source_table: null, source_columns: [] })
    expect([readsTable(planned), planned.tasks[0]?.body]).toEqual([false, queryOf(spec)])
    expect(queryOf({ ...spec, ...withQuery(spec, 'SELECT 1') })).toBe('SELECT 1')
    expect(queryOf({ ...spec, source_table: '' })).toBe('')
  })

  it('keeps the target of its last task', () => {
    const last = {
      task_type: 'PYTHON',
      body: 'trim',
      source_table: null,
      target_table: 'analytics.other',
    } as const
    const spec: Spec = { ...BLANK, ...withSteps(BLANK, ['trim']) }
    const elsewhere = { ...spec, tasks: [spec.tasks[0]!, last] }
    expect(withSteps(elsewhere, ['trim', 'rate']).tasks?.map(({ target_table }) => target_table)).toEqual([
      null,
      null,
      'analytics.other',
    ])
    expect(withSteps(elsewhere, [])).toMatchObject({ tasks: [], target_table: 'analytics.other' })
  })
})

describe('three versions', () => {
  const pipeline = (some: Partial<Pipeline>) =>
    ({ ...BLANK, id: 'x', type: 'SQL', config_version: 1, tasks: [], ...some }) as Pipeline
  const base = pipeline({ description: 'old', batch_size: 10 })
  const latest = pipeline({ description: 'theirs', batch_size: 20, deletes: 'sweep', config_version: 2 })
  const merge = mergeOf(
    { base, fields: { description: 'mine', batch_size: 20, quarantine_limit: 5 } },
    latest,
  )

  it('are distinguished by who changed what', () => {
    expect(Object.fromEntries(merge.map(({ field, by }) => [field, by]))).toEqual({
      description: 'both',
      batch_size: 'agreed',
      quarantine_limit: 'mine',
      deletes: 'theirs',
    })
  })

  it('keep mine without a choice, and never touch fields that only they changed', () => {
    expect(chosenFields(merge, {})).toEqual({ description: 'mine', quarantine_limit: 5 })
    expect(chosenFields(merge, { description: 'theirs' })).toEqual({ quarantine_limit: 5 })
  })

  it('do not differ by the numbers of tasks', () => {
    const task = { task_type: 'SQL', body: 'SELECT 1', source_table: null, target_table: null } as const
    const one = pipeline({ tasks: [{ ...task, id: '1', order_index: 1 }] })
    const other = pipeline({ tasks: [{ ...task, id: '2', order_index: 5 }] })
    expect(specOf(one)).toEqual(specOf(other))
  })
})

describe('a number that is typed', () => {
  it.each([
    ['500', 500],
    [' 0.25 ', 0.25],
    ['auto', 'auto'],
    ['', ''],
    ['5e', '5e'],
  ])('"%s" is %s', (text, value) => {
    expect(typedNumber(text)).toBe(value)
  })
})
