import { copyDown, duckdb, readMart } from '../../support/duckdb.js'
import { startS3 } from '../../support/s3.js'
import { type SeenRow, sinkSuite } from './suite.js'

const s3 = await startS3()

sinkSuite({
  name: 'S3, read by DuckDB',
  inProcesses: true,
  start: async () => {
    if ('missing' in s3) return s3
    return {
      env: {
        S3_BUCKET: s3.bucket,
        S3_ENDPOINT: s3.endpoint,
        S3_ACCESS_KEY_ID: s3.accessKeyId,
        S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
        ALLOWED_S3_PREFIXES: 'marts/*',
      },
      target: (name) => `s3:marts/${name}`,
      read: async (_database, name) => {
        const copy = await copyDown(s3, s3.bucket, `marts/${name}`)
        try {
          if (!copy.keys.some((key) => key.endsWith('/manifest.json'))) return null
          const rows = await duckdb(...readMart(copy.root), 'SELECT id::VARCHAR, title, n::VARCHAR FROM mart')
          return rows.map(([id, title, n]) => ({ id, title, n }) as SeenRow)
        } finally {
          await copy.remove()
        }
      },
      close: async () => {},
    }
  },
})
