import { startS3 } from '../support/s3.js'
import { s3Marts } from '../support/sink-servers.js'
import { sinkPartsSuite } from './sink-parts.js'

const s3 = await startS3()

sinkPartsSuite({ name: 'S3', place: 2, start: async () => s3Marts(s3) })
