import { describe, expect, it } from 'vitest'
import { readerField, readerQuery } from './pipeline.js'
import { readTableName, readTableRule } from './table-name.js'
import { isAllowedTarget, targetIdentity, targetSchemas } from './target.js'

const rules = (...tables: string[]) => ({ tables, kinds: [] })

describe('the allow-list of target tables (R4.12)', () => {
  it('compares the names that PostgreSQL would use, not the text', () => {
    const one = rules('analytics.film_dim')
    expect(isAllowedTarget('analytics.film_dim', one)).toBe(true)
    expect(isAllowedTarget('"analytics"."film_dim"', one)).toBe(true)
    expect(isAllowedTarget('ANALYTICS.Film_Dim', one)).toBe(true)
    // A different table, whose name contains a quote.
    expect(isAllowedTarget('analytics."film_""dim"', one)).toBe(false)
    expect(isAllowedTarget('analytics."Film_Dim"', one)).toBe(false)
    expect(isAllowedTarget('analytics.""film_dim""', one)).toBe(false)
  })

  it.each(['"analytics.secret".t', 'other.t', '"Analytics".t', 'analytics', 'analytics.a.b', 'analytics.*'])(
    'excludes %s from analytics.*',
    (target) => {
      expect(isAllowedTarget(target, rules('analytics.*'))).toBe(false)
    },
  )

  it('does not fold names without quotes in a rule, and reads quotes as in SQL', () => {
    expect(isAllowedTarget('"Marts".x', rules('Marts.*'))).toBe(true)
    expect(isAllowedTarget('marts.x', rules('Marts.*'))).toBe(false)
    expect(isAllowedTarget('"my-marts".x', rules('my-marts.*'))).toBe(true)
    expect(isAllowedTarget('"a.b"."c""d"', rules('"a.b"."c""d"'))).toBe(true)
    expect(isAllowedTarget('"a.b".x', rules('"a.b".*'))).toBe(true)
    expect(isAllowedTarget('analytics.x', rules('analytics', '*', ''))).toBe(false)
  })

  it('names the schemas that contain allowed tables', () => {
    expect(targetSchemas(rules('analytics.*', 'analytics.film_dim', '"a.b".*', 'nonsense'))).toEqual([
      'analytics',
      'a.b',
    ])
  })

  it('parses valid names and nothing else', () => {
    expect(readTableName(' Content."Film ""Work""" ')).toEqual({ schema: 'content', table: 'Film "Work"' })
    expect(readTableName('film_work')).toBeNull()
    expect(readTableRule('a.b.c')).toBeNull()
  })
})

describe('the identity of a target', () => {
  it('is the same for every spelling of a table, and different for another connection', () => {
    expect(targetIdentity('analytics.Film_Dim', null)).toBe(targetIdentity('"analytics".film_dim', null))
    expect(targetIdentity('analytics."Film_Dim"', null)).not.toBe(targetIdentity('analytics.film_dim', null))
    expect(targetIdentity('analytics.x', 'DWH')).toBe(targetIdentity('analytics.x', 'dwh'))
    expect(targetIdentity('analytics.x', 'dwh')).not.toBe(targetIdentity('analytics.x', null))
  })
})

describe('the query of a pipeline', () => {
  const none = { tasks: [], sourceQuery: null, sourceTable: null, sourceColumns: [] }

  it('is the quoted name of its table', () => {
    const table = { ...none, sourceTable: 'Content."Film ""Work"""' }
    expect(readerQuery(table)).toBe('SELECT * FROM "content"."Film ""Work"""')
    expect(readerQuery({ ...table, sourceColumns: ['id', 'Full "Title"'] })).toBe(
      'SELECT "id", "Full ""Title""" FROM "content"."Film ""Work"""',
    )
    expect(readerField(table)).toBe('source_table')
  })

  it('cannot be injected as a name', () => {
    const hostile = { ...none, sourceTable: 'content.genre; DROP TABLE content.genre' }
    expect(readerQuery(hostile)).toBe('SELECT * FROM "content.genre; DROP TABLE content.genre"')
  })

  it('is that of the task plan, then its own, then that of its table; else empty', () => {
    const both = { ...none, sourceQuery: 'SELECT 1', sourceTable: 'content.genre' }
    expect(readerQuery({ ...both, tasks: [{ body: 'SELECT 2' }] })).toBe('SELECT 2')
    expect(readerField({ ...both, tasks: [{ body: 'SELECT 2' }] })).toBe('tasks.0.body')
    expect(readerQuery(both)).toBe('SELECT 1')
    expect(readerQuery(none)).toBe('')
    expect(readerField(none)).toBe('source_query')
  })
})
