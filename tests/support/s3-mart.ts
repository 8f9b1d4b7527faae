import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { beforeEach, describe, onTestFinished } from 'vitest'
import { readTable } from '../../src/config/settings.js'
import type { BatchId, Sink, SinkKind } from '../../src/ports/sink.js'
import { S3_SETTINGS } from '../../src/sinks/s3/config.js'
import { s3Kind } from '../../src/sinks/s3/index.js'
import type { Manifest } from '../../src/sinks/s3/manifest.js'
import type { TextValues } from '../../src/sql/copy-text.js'
import { RowBatch } from '../../src/sql/row-batch.js'
import type { Column } from '../../src/sql/selection.js'
import { copyDown, duckdb, objectKeys, readMart } from './duckdb.js'
import { startS3, type TestS3 } from './s3.js'

/** A suite on a real S3 server. Without one every test is skipped, with the reason. */
export async function describeS3(name: string, suite: (s3: TestS3) => void): Promise<void> {
  const s3 = await startS3()
  describe(name, () => {
    if ('missing' in s3) beforeEach((context) => context.skip(s3.missing))
    suite(s3 as TestS3)
  })
}

const PIPELINE = '11111111-1111-4111-8111-111111111111'

/** `{ id: 'bigint', title: 'text' }` */
export function columnsOfTypes(types: Readonly<Record<string, string>>): Column[] {
  return Object.entries(types).map(([name, type]) => ({ name, type, typeOid: 0, base: null, notNull: false }))
}

export interface S3MartOptions {
  readonly types?: Readonly<Record<string, string>>
  readonly columns?: readonly Column[]
  readonly key?: readonly string[]
  readonly options?: Readonly<Record<string, unknown>>
  readonly brake?: number
  readonly now?: () => Date
  readonly settings?: Readonly<Record<string, string>>
}

export class TestS3Mart {
  readonly bucket: string
  /** Of this test alone. */
  readonly name = `marts/film_dim_${randomBytes(6).toString('hex')}`
  readonly kind: SinkKind
  readonly #s3: TestS3
  readonly #options: S3MartOptions

  constructor(s3: TestS3, options: S3MartOptions) {
    this.#s3 = s3
    this.bucket = s3.bucket
    this.#options = options
    this.kind = kindFor(s3, options)
  }

  /** One attempt. */
  async open(changed: S3MartOptions = {}): Promise<Sink> {
    const options = { ...this.#options, ...changed }
    const read = this.kind.readOptions(options.options ?? {})
    if ('problems' in read) throw new Error(JSON.stringify(read.problems))
    const sink = await kindFor(this.#s3, options).open({
      name: this.name,
      columns: options.columns ?? columnsOfTypes(options.types ?? { id: 'bigint', title: 'text' }),
      key: options.key ?? ['id'],
      options: read.options,
      brake: options.brake ?? 0.5,
      signal: new AbortController().signal,
    })
    onTestFinished(() => sink.close())
    return sink
  }

  /** The current manifest; null: it does not exist. */
  async manifest(): Promise<Manifest | null> {
    const command = new GetObjectCommand({ Bucket: this.bucket, Key: `${this.name}/manifest.json` })
    const object = await this.#s3.client.send(command).catch(() => null)
    return object === null ? null : JSON.parse(await object.Body!.transformToString())
  }

  /** Objects below the prefix, without it. */
  async objects(): Promise<string[]> {
    const keys = await objectKeys(this.#s3, this.bucket, this.name)
    return keys.map((key) => key.slice(this.name.length + 1)).sort()
  }

  /** What a reader with DuckDB sees: `sql` selects from `mart`. */
  async read(
    sql = 'SELECT id::VARCHAR, title FROM mart ORDER BY id',
  ): Promise<(string | number | boolean | null)[][]> {
    const rows = await readWithDuckdb(this.#s3, this.name, sql)
    if (rows === null) throw new Error(`there is no manifest in ${this.name}`)
    return rows
  }
}

/** Null: the mart does not exist. */
export async function readWithDuckdb(
  s3: TestS3,
  name: string,
  sql: string,
): Promise<(string | number | boolean | null)[][] | null> {
  const copy = await copyDown(s3, s3.bucket, name)
  if (copy === null) return null
  try {
    return await duckdb(...(await readMart(copy.root)), sql)
  } finally {
    await copy.remove()
  }
}

/** Tampers with the mart: one file of DuckDB's own replaces all others, `sql` selects from `mart`. */
export async function rewriteWithDuckdb(s3: TestS3, name: string, sql: string): Promise<void> {
  const copy = await copyDown(s3, s3.bucket, name)
  if (copy === null) throw new Error(`there is no manifest in ${name}`)
  try {
    const [path, local] = ['data/by-hand.parquet', join(copy.root, 'by-hand.parquet')]
    const [answer] = await duckdb(
      ...(await readMart(copy.root)),
      `COPY (${sql}) TO '${local}' (FORMAT parquet)`,
    )
    const bytes = await readFile(local)
    const put = (key: string, Body: Buffer | string) =>
      s3.client.send(new PutObjectCommand({ Bucket: s3.bucket, Key: `${name}/${key}`, Body }))
    await put(path, bytes)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const rows = answer![0]
    const files = [{ path, rows, bytes: bytes.length, sha256 }]
    const manifest = JSON.parse(await readFile(join(copy.root, 'manifest.json'), 'utf8'))
    await put('manifest.json', JSON.stringify({ ...manifest, rows, files }))
  } finally {
    await copy.remove()
  }
}

export function anS3Mart(s3: TestS3, options: S3MartOptions = {}): TestS3Mart {
  return new TestS3Mart(s3, options)
}

function kindFor(s3: TestS3, { now, settings }: S3MartOptions): SinkKind {
  const environment = {
    S3_BUCKET: s3.bucket,
    S3_ENDPOINT: s3.endpoint,
    S3_ACCESS_KEY_ID: s3.accessKeyId,
    S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    ...settings,
  }
  return s3Kind(readTable(S3_SETTINGS, environment), now ?? (() => new Date()))
}

/** A run, with its batches numbered and its marks kept as the engine keeps them. */
export class TestRun {
  readonly id: string
  readonly fence: number
  marks: string[] = []
  #number = 0

  constructor(fence = 1, id = randomBytes(8).toString('hex')) {
    this.fence = fence
    this.id = id
  }

  batch(): BatchId {
    this.#number += 1
    return this.last()
  }

  last(): BatchId {
    return { pipelineId: PIPELINE, runId: this.id, fence: this.fence, number: this.#number }
  }

  async write(sink: Pick<Sink, 'write'>, rows: readonly TextValues[]) {
    const result = await sink.write(RowBatch.ofRows(rows), this.batch())
    this.marks.push(...(result.marks ?? []))
    return result
  }

  async remove(sink: Sink, keys: readonly TextValues[]): Promise<number> {
    const { deleted, marks = [] } = await sink.remove(keys, this.batch())
    this.marks.push(...marks)
    return deleted
  }

  async removeAbsent(sink: Sink, keys: readonly TextValues[]): Promise<number> {
    const portions = (async function* () {
      yield keys
    })()
    const { deleted, marks = [] } = await sink.removeAbsent(portions, this.batch(), this.marks)
    this.marks.push(...marks)
    return deleted
  }

  /** The marks are kept, so that it can be called once more. */
  publish(sink: Sink): Promise<void> {
    return sink.publish(this.marks, this.last())
  }
}

/** A whole run of one batch. */
export async function runOnce(
  mart: TestS3Mart,
  rows: readonly TextValues[],
  run = new TestRun(),
): Promise<TestRun> {
  const sink = await mart.open()
  await sink.prepare()
  await run.write(sink, rows)
  await run.publish(sink)
  return run
}
