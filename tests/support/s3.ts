import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { afterAll } from 'vitest'
import { findTool } from '../../scripts/lib/test-tools.mjs'
import { freePorts } from './ports.js'
import { type SpawnedVitrina, spawnProgram } from './processes.js'
import { waitFor } from './wait.js'

/** A real S3 server of this file, and direct access to it. */
export interface TestS3 {
  readonly endpoint: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly client: S3Client
  /** One for the whole file, each test uses a prefix: SeaweedFS reserves volumes for every bucket. */
  readonly bucket: string
}

/**
 * SeaweedFS from PyPI, in a private folder, on free ports, stopped after the file; or the reason why it is missing.
 */
export async function startS3(): Promise<TestS3 | { readonly missing: string }> {
  const tools = await findTool('python')
  if ('missing' in tools) return tools
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true'
  const folder = await mkdtemp(join(tmpdir(), 'vitrina-s3-'))
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const login = { accessKeyId: 'vitrina', secretAccessKey: randomBytes(16).toString('hex') }
  const [s3, ...others] = await freePorts(9)
  const server = await spawnWeed(tools.weed, { folder, login, s3: s3!, others })
  afterAll(async () => {
    // A normal shutdown takes 25 s, and nothing in its folder is worth keeping.
    server.kill('SIGKILL')
    await server.exited
  })
  const endpoint = `http://127.0.0.1:${s3}`
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: login,
    maxAttempts: 1,
  })
  afterAll(() => client.destroy())
  const bucket = `test-${randomBytes(6).toString('hex')}`
  // It accepts requests before its parts have found each other.
  const ready = async () => {
    await client.send(new CreateBucketCommand({ Bucket: bucket })).catch((error) => {
      if (error.name !== 'BucketAlreadyOwnedByYou') throw error
    })
    return client.send(new PutObjectCommand({ Bucket: bucket, Key: 'ready', Body: 'ready' }))
  }
  await waitFor(ready, { what: 'SeaweedFS to accept an object', timeoutMs: 60_000 }).catch((error) => {
    throw new Error(`${error.message}\n${server.stderr.slice(-3000)}`)
  })
  return { endpoint, ...login, client, bucket }
}

interface WeedOptions {
  readonly folder: string
  readonly login: { readonly accessKeyId: string; readonly secretAccessKey: string }
  readonly s3: number
  readonly others: readonly number[]
}

async function spawnWeed(weed: string, { folder, login, s3, others }: WeedOptions): Promise<SpawnedVitrina> {
  const { accessKeyId, secretAccessKey } = login
  const identities = [
    {
      name: 'test',
      credentials: [{ accessKey: accessKeyId, secretKey: secretAccessKey }],
      actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'],
    },
    { name: 'nobody', credentials: [{ accessKey: 'nobody', secretKey: 'nobody' }], actions: [] },
  ]
  await writeFile(join(folder, 's3.json'), JSON.stringify({ identities }))
  const [master, masterGrpc, volume, volumeGrpc, filer, filerGrpc, s3Grpc] = others
  return spawnProgram(
    [
      weed,
      'server',
      `-dir=${folder}`,
      '-ip=127.0.0.1',
      '-ip.bind=127.0.0.1',
      `-master.port=${master}`,
      `-master.port.grpc=${masterGrpc}`,
      `-volume.port=${volume}`,
      `-volume.port.grpc=${volumeGrpc}`,
      '-filer',
      `-filer.port=${filer}`,
      `-filer.port.grpc=${filerGrpc}`,
      '-s3',
      `-s3.port=${s3}`,
      `-s3.port.grpc=${s3Grpc}`,
      `-s3.config=${join(folder, 's3.json')}`,
      '-s3.iam=false',
      '-s3.port.iceberg=0',
      '-s3.port.lance=0',
      '-master.volumeSizeLimitMB=64',
      '-volume.max=50',
    ],
    {},
    { cwd: folder },
  )
}
