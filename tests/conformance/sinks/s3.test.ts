import { startS3 } from '../../support/s3.js'
import { inTurn } from '../../support/sample.js'
import { s3Marts } from '../../support/sink-servers.js'
import { BETWEEN_SERVERS, sinkSuite } from './suite.js'

const s3 = await startS3()

sinkSuite({
  name: 'S3, read with DuckDB',
  place: 2,
  crashes: inTurn(BETWEEN_SERVERS, 3),
  start: async () => s3Marts(s3),
})
