import { startS3 } from '../../support/s3.js'
import { readWithDuckdb, rewriteWithDuckdb } from '../../support/s3-mart.js'
import { inTurn } from '../../support/sample.js'
import { BETWEEN_SERVERS, type SeenRow, sinkSuite } from './suite.js'

const s3 = await startS3()

sinkSuite({
  name: 'S3, read with DuckDB',
  crashes: inTurn(BETWEEN_SERVERS, 3),
  start: async () => {
    if ('missing' in s3) return s3
    return {
      env: {
        S3_BUCKET: s3.bucket,
        S3_ENDPOINT: s3.endpoint,
        S3_ACCESS_KEY_ID: s3.accessKeyId,
        S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
      },
      isParted: true,
      target: (name) => `s3:marts/${name}`,
      read: async (_database, name) => {
        const rows = await readWithDuckdb(
          s3,
          `marts/${name}`,
          'SELECT id::VARCHAR, title, n::VARCHAR FROM mart',
        )
        return rows?.map(([id, title, n]) => ({ id, title, n }) as SeenRow) ?? null
      },
      tamper: (_database, name) =>
        rewriteWithDuckdb(
          s3,
          `marts/${name}`,
          `SELECT * REPLACE (CASE id WHEN 2 THEN 'wrong' ELSE title END AS title) FROM mart WHERE id <> 1
           UNION ALL SELECT * REPLACE (9999 AS id) FROM mart WHERE id = 3`,
        ),
      close: async () => {},
    }
  },
})
