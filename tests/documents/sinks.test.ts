import { describe, expect, it } from 'vitest'
import { aClickHouse } from '../support/clickhouse.js'
import { aDatabase } from '../support/database.js'
import { copyDown, duckdb, forCopy } from '../support/duckdb.js'
import { SearchLab, searchServer } from '../support/elasticsearch.js'
import { asTable, readThrough, type Stage } from '../support/read-through.js'
import { startS3, type TestS3 } from '../support/s3.js'
import { DOCUMENTS } from './documents.js'
import { aStageOn } from './stage.js'

type Instead = Stage['instead']

/** With the sample cinema to read from; the document starts the server. */
async function follow(file: string, instead: Instead, sql?: Stage['sql']) {
  const stage = await aStageOn(await aDatabase({ cinema: true }))
  await readThrough(file, { ...stage, instead: [...instead, ...stage.instead], ...(sql && { sql }) })
}

const search = await searchServer()

it('R7.7 the guide to Elasticsearch works exactly as written', async (context) => {
  if ('missing' in search) return context.skip(search.missing)
  const index = new SearchLab(search.url).name()
  await follow(DOCUMENTS.elasticsearch, [
    ['http://localhost:9200', search.url],
    // Other files fill an index of this name on the same server.
    ['film_dim', index],
  ])
}, 120_000)

describe('with ClickHouse', { timeout: 120_000 }, async () => {
  const server = await aClickHouse()

  it('R7.7 its guide works exactly as written', async () => {
    const instead: Instead = [['http://etl:password@clickhouse:8123/', `${server.url}/`]]
    await follow(DOCUMENTS.clickhouse, instead, async (sql) =>
      asTable(await server.rows(`${sql} FORMAT TSVWithNames`)),
    )
  })
})

describe('with S3', { timeout: 120_000 }, async () => {
  const s3 = await startS3()

  it('R7.7 its guide works exactly as written', async (context) => {
    if ('missing' in s3) return context.skip(s3.missing)
    const instead: Instead = [
      ['marts-of-the-cinema', s3.bucket],
      ['http://localhost:9000', s3.endpoint],
      ['the-access-key', s3.accessKeyId],
      ['its-secret', s3.secretAccessKey],
    ]
    await follow(DOCUMENTS.s3, instead, (sql) => askDuckdb(s3, sql))
  })
})

async function askDuckdb(s3: TestS3, sql: string): Promise<string> {
  const copy = await copyDown(s3, s3.bucket, 'marts/film_dim')
  expect(copy, 'the mart in the bucket').not.toBeNull()
  const statements = forCopy(sql, copy!.root)
    .split(';')
    .filter((statement) => statement.trim() !== '')
  const [select, ...before] = [statements.pop()!, ...statements]
  const names = await duckdb(...before, `SELECT column_name FROM (DESCRIBE ${select})`)
  const rows = await duckdb(...before, `SELECT COLUMNS(*)::VARCHAR FROM (${select})`)
  await copy!.remove()
  return asTable([names.flat(), ...rows])
}
