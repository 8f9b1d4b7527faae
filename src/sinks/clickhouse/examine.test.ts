import { describe, expect, it } from 'vitest'
import { aClickHouse } from '../../../tests/support/clickhouse.js'
import { aClickHouseMart, batch, messagesOf, rowsOf } from '../../../tests/support/clickhouse-mart.js'

const server = await aClickHouse()

describe('examining a mart (real engine, HTTP front of our own)', () => {
  it('names the column that is missing or of another type, and the statement that fixes it', async () => {
    const mart = aClickHouseMart(server)
    await (await mart.open()).prepare()
    const sink = await mart.open({ columns: { id: 'bigint', title: 'integer', year: 'integer' } })
    const { exists, errors } = await sink.examine()
    expect(exists).toBe(true)
    expect(messagesOf(errors)).toEqual([
      `Column "title" of ${mart.database}.mart__data is Nullable(String); the query needs Nullable(Int32).`,
      `${mart.database}.mart__data has no column "year".`,
    ])
    expect(errors.map(({ code }) => code)).toEqual(['TARGET_MISMATCH', 'TARGET_MISMATCH'])
    expect(errors[1]!.hint).toContain(
      `ALTER TABLE ${mart.database}.mart__data ADD COLUMN \`year\` Nullable(Int32)`,
    )
    await expect(sink.prepare()).rejects.toMatchObject({ code: 'TARGET_MISMATCH' })
  })

  it('finds nothing wrong after that statement, and the view follows', async () => {
    const mart = aClickHouseMart(server)
    const before = await mart.open()
    await before.prepare()
    await before.write(rowsOf(['1', 'one']), batch(1, 1))
    await server.rows(`ALTER TABLE ${mart.database}.mart__data ADD COLUMN \`year\` Nullable(Int32)`)
    const sink = await mart.open({ columns: { id: 'bigint', title: 'text', year: 'integer' } })
    expect(await sink.examine()).toMatchObject({ errors: [], warnings: [] })
    await sink.prepare()
    await sink.write(rowsOf(['2', 'two', '1977']), batch(2, 1))
    expect(await mart.read()).toEqual([
      ['1', 'one', '\\N'],
      ['2', 'two', '1977'],
    ])
  })

  it('accepts LowCardinality and wider columns, and warns of those that the query does not fill', async () => {
    const mart = aClickHouseMart(server)
    await server.rows(`CREATE DATABASE ${mart.database}`)
    await server.rows(
      `CREATE TABLE ${mart.database}.mart__data (id Int64, title LowCardinality(Nullable(String)), note String DEFAULT 'x',
         _vitrina_version UInt64, _vitrina_deleted UInt8)
       ENGINE = ReplacingMergeTree(_vitrina_version, _vitrina_deleted) ORDER BY id PARTITION BY id % 2`,
    )
    const sink = await mart.open()
    const { errors, warnings } = await sink.examine()
    expect(errors).toEqual([])
    expect(messagesOf(warnings)).toEqual([
      `${mart.database}.mart__data has a column "note" that the query does not return.`,
    ])
    await sink.prepare()
    await sink.write(rowsOf(['1', 'one']), batch(1, 1))
    expect(await sink.write(rowsOf(['1', 'one']), batch(1, 2))).toMatchObject({ unchanged: 1 })
    expect(await mart.read()).toEqual([['1', 'one']])
  })

  it('rejects another engine, another key, and a name that is in use', async () => {
    const mart = aClickHouseMart(server)
    await server.rows(`CREATE DATABASE ${mart.database}`)
    await server.rows(`CREATE TABLE ${mart.database}.mart (id Int64) ENGINE = MergeTree ORDER BY id`)
    await server.rows(
      `CREATE TABLE ${mart.database}.mart__data (id Int64, title Nullable(String)) ENGINE = MergeTree ORDER BY (id % 3)`,
    )
    const messages = messagesOf((await (await mart.open()).examine()).errors)
    expect(messages).toEqual([
      expect.stringContaining('exists and is not a Vitrina mart but a table (MergeTree)'),
      expect.stringContaining('has the engine MergeTree'),
      expect.stringMatching(/is ordered by \(?id % 3\)?, but the key of the pipeline is id/),
      expect.stringContaining('no column "_vitrina_version"'),
      expect.stringContaining('no column "_vitrina_deleted"'),
    ])
  })

  it('creates the data table again when only the view is left', async () => {
    const mart = aClickHouseMart(server)
    const sink = await mart.open()
    await sink.prepare()
    await server.rows(`DROP TABLE ${mart.database}.mart__data`)
    expect(await sink.examine()).toMatchObject({ exists: false, errors: [] })
    await sink.prepare()
    await sink.write(rowsOf(['1', 'one']), batch(1, 1))
    expect(await mart.read()).toEqual([['1', 'one']])
  })

  it('rejects keys that cannot identify a row, and reserved column names', async () => {
    const mart = aClickHouseMart(server, {
      columns: { at: 'double precision', tags: 'text[]', _vitrina_version: 'bigint' },
      key: ['at', 'tags'],
    })
    const { errors } = await (await mart.open()).examine()
    expect(errors.map(({ code, field }) => [code, field])).toEqual([
      ['TARGET_VALUE', 'key_columns'],
      ['TARGET_VALUE', 'key_columns'],
      ['TARGET_VALUE', 'source_query'],
    ])
  })

  it('warns where the contract changes a value', async () => {
    const mart = aClickHouseMart(server, {
      columns: {
        id: 'bigint',
        tags: 'text[]',
        kept: 'text[]!',
        average: 'numeric',
        huge: 'numeric(90,2)',
        exact: 'numeric(9,2)',
      },
    })
    const { warnings } = await (await mart.open()).examine()
    expect(messagesOf(warnings)).toEqual([
      expect.stringMatching(/"tags" .* empty array where it is NULL/),
      expect.stringMatching(/"average" .* Decimal\(76, 38\)/),
      expect.stringMatching(/"huge" .* stored as text/),
    ])
  })
})
