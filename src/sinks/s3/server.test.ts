import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { describe, expect, it } from 'vitest'
import {
  anS3Mart,
  columnsOfTypes,
  describeS3,
  runOnce,
  type S3MartOptions,
  TestRun,
} from '../../../tests/support/s3-mart.js'
import { readTable } from '../../config/settings.js'
import { S3_SETTINGS } from './config.js'
import { sinkError } from './errors.js'
import { s3 as s3Sink } from './index.js'

const signal = new AbortController().signal
const ROW = [['1', 'film 1']]

await describeS3('An S3 server', (s3) => {
  it('reports the bucket to doctor', async () => {
    expect(await anS3Mart(s3).kind.ping(signal)).toBe(`bucket ${s3.bucket} at ${s3.endpoint}`)
    expect(anS3Mart(s3).kind.address).toBe(`${s3.bucket} at ${s3.endpoint}`)
    expect(await anS3Mart(s3).kind.missing()).toBeNull()
  })

  it.each<[string, string, S3MartOptions['settings']]>([
    ['there is no such bucket', 'SINK_REFUSED', { S3_BUCKET: 'no-such-bucket' }],
    ['the secret is wrong', 'SINK_LOGIN', { S3_SECRET_ACCESS_KEY: 'wrong-secret-of-a-test' }],
    ['the key is unknown', 'SINK_LOGIN', { S3_ACCESS_KEY_ID: 'unknown' }],
    ['the key may do nothing', 'SINK_LOGIN', { S3_ACCESS_KEY_ID: 'nobody', S3_SECRET_ACCESS_KEY: 'nobody' }], // words:allow
    ['the port is closed', 'SINK_UNAVAILABLE', { S3_ENDPOINT: 'http://127.0.0.1:9' }],
  ])('is classified when %s: %s', async (_, code, settings) => {
    const mart = anS3Mart(s3, { settings: settings! })
    const errors = [
      await mart.kind.ping(signal).catch((error) => error),
      await (await mart.open()).prepare().catch((error) => error),
      // SeaweedFS creates a missing bucket on write, so a run must check before.
      ...(code === 'SINK_REFUSED'
        ? []
        : [await new TestRun().write(await mart.open(), ROW).catch((error) => error)]),
    ]
    for (const error of errors) {
      expect(error).toMatchObject({ code })
      expect(JSON.stringify(error) + error.message + error.hint + error.cause).not.toContain(
        'wrong-secret-of-a-test',
      )
    }
  })

  it('reports what changed if the columns no longer fit, and writes nothing', async () => {
    const mart = anS3Mart(s3, { types: { id: 'bigint', title: 'text', price: 'numeric(4,2)' } })
    await runOnce(mart, [['1', 'a', '1.00']])
    const types = { id: 'bigint', price: 'numeric(6,2)', added: 'text' }
    const sink = await mart.open({ types, options: { partition_by: 'added' } })
    const { exists, errors } = await sink.examine()
    expect(exists).toBe(true)
    expect(errors.map(({ message }) => message.replace(/^.*do not match: /, ''))).toEqual([
      'column "added" (string) is new.',
      'column "title" (string) is missing.',
      'column "price" was decimal(4,2) and is now decimal(6,2).',
      'partition_by was none and is now added.',
    ])
    await expect(sink.prepare()).rejects.toMatchObject({ code: 'TARGET_MISMATCH' })
  })

  it('reports what it cannot store before the first run', async () => {
    const types = { id: 'bigint', total: 'numeric', tags: 'text[]' }
    const mart = anS3Mart(s3, { types, options: { partition_by: 'tags' } })
    const { exists, errors, warnings } = await (await mart.open()).examine()
    expect(exists).toBe(false)
    expect(errors.map(({ message }) => message)).toEqual([
      '"tags" is an array; a partition needs a single value.',
    ])
    expect(warnings.map(({ message }) => message)).toEqual([
      '"total" is numeric, but Parquet decimals have at most 38 digits and a fixed scale: it is stored as text.',
    ])
    const missing = await (await mart.open({ options: { partition_by: 'none' } })).examine()
    expect(missing.errors.map(({ message }) => message)).toEqual(['The query returns no column "none".'])
  })

  it('does not create a mart from the last run alone if the manifest is missing', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, ROW)
    const sink = await mart.open()
    await sink.prepare()
    const run = new TestRun(2)
    await run.write(sink, [['2', 'film 2']])
    await s3.client.send(new DeleteObjectCommand({ Bucket: s3.bucket, Key: `${mart.name}/manifest.json` }))
    await expect(run.publish(sink)).rejects.toMatchObject({ code: 'SINK_GONE' })
  })

  it('does not publish files that were removed or changed meanwhile', async () => {
    const mart = anS3Mart(s3)
    const sink = await mart.open()
    const run = new TestRun()
    await run.write(sink, ROW)
    const key = `${mart.name}/${run.marks[0]!.split('?')[0]}`
    await s3.client.send(new PutObjectCommand({ Bucket: s3.bucket, Key: key, Body: 'something else' }))
    await expect(run.publish(sink)).rejects.toMatchObject({
      code: 'SINK_GONE',
      message: /14 bytes instead of/,
    })
    await s3.client.send(new DeleteObjectCommand({ Bucket: s3.bucket, Key: key }))
    await expect(run.publish(sink)).rejects.toMatchObject({ code: 'SINK_GONE', message: /does not exist/ })
    expect(await mart.manifest()).toBeNull()
  })

  it('explains how to recover when a file of the mart is lost, and the remedy works', async () => {
    const mart = anS3Mart(s3)
    await runOnce(mart, [
      ['1', 'one'],
      ['2', 'two'],
    ])
    const remove = (path: string) =>
      s3.client.send(new DeleteObjectCommand({ Bucket: s3.bucket, Key: `${mart.name}/${path}` }))
    await remove((await mart.manifest())!.files[0]!.path)
    const rows = [
      ['1', 'one'],
      ['2', 'new'],
    ]
    await expect(runOnce(mart, rows, new TestRun(2))).rejects.toMatchObject({
      code: 'SINK_GONE',
      hint: expect.stringContaining('remove manifest.json there, reset the pipeline and run it in full'),
    })
    await remove('manifest.json')
    await runOnce(mart, rows, new TestRun(3))
    expect(await mart.read()).toEqual(rows)
  })

  it('rejects a manifest that Vitrina did not write', async () => {
    const mart = anS3Mart(s3)
    await s3.client.send(
      new PutObjectCommand({ Bucket: s3.bucket, Key: `${mart.name}/manifest.json`, Body: '{}' }),
    )
    await expect((await mart.open()).examine()).rejects.toMatchObject({ code: 'SINK_REFUSED' })
  })

  it('stops when the run is aborted', async () => {
    const mart = anS3Mart(s3)
    const abort = new AbortController()
    const { options } = mart.kind.readOptions({}) as { options: Record<string, unknown> }
    const columns = columnsOfTypes({ id: 'bigint', title: 'text' })
    const sink = await mart.kind.open({
      name: mart.name,
      columns,
      key: ['id'],
      options,
      brake: 1,
      signal: abort.signal,
    })
    abort.abort(new Error('the lease is lost'))
    await expect(new TestRun().write(sink, ROW)).rejects.toThrow('the lease is lost')
    await sink.close()
  })
})

describe('The kind of sink called s3', () => {
  const kind = (environment: Record<string, string>) => s3Sink.create(readTable(S3_SETTINGS, environment))

  it('reports that it is not configured', async () => {
    expect(await kind({}).missing()).toMatchObject({ message: 'S3_BUCKET is not set.' })
    await expect(kind({}).ping(signal)).rejects.toMatchObject({ code: 'SINK_MISSING' })
    expect(kind({}).allowList).toEqual({ setting: 'ALLOWED_S3_PREFIXES', names: ['marts/*'] })
  })

  it.each(['marts/film_dim', 'data/films', 'a', 'marts/2024.v1/film-dim'])('takes the prefix %s', (name) => {
    expect(kind({}).nameProblem(name)).toBeNull()
  })

  it.each([
    '',
    '/marts',
    'marts/',
    'marts//a',
    'marts/../a',
    'marts/a b',
    'marts/x=1',
    'marts/film/data/x',
    'm'.repeat(401),
  ])('refuses the prefix "%s"', (name) => {
    expect(kind({}).nameProblem(name)).not.toBeNull()
  })

  it('reads options with their defaults, and reports what is wrong with each', () => {
    expect(kind({}).readOptions({ partition_by: 'genre' })).toEqual({
      options: { partition_by: 'genre', compression: 'snappy', file_size_mb: 32, keep_hours: 24 },
    })
    const { problems } = kind({}).readOptions({ compression: 'zip', keep_hours: 0 }) as {
      problems: readonly { readonly field: string }[]
    }
    expect(problems.map(({ field }) => field)).toEqual(['compression', 'keep_hours'])
  })

  it.each([
    ['SlowDown', 503, 'SINK_OVERLOADED'],
    ['TooManyRequests', 429, 'SINK_OVERLOADED'],
    ['InternalError', 500, 'SINK_UNAVAILABLE'],
    ['TimeoutError', undefined, 'SINK_UNAVAILABLE'],
    ['ExpiredToken', 400, 'SINK_LOGIN'],
    ['EntityTooLarge', 400, 'SINK_REFUSED'],
    ['NoSuchBucket', 404, 'SINK_REFUSED'],
  ])('maps the response %s (%s) to %s', (name, httpStatusCode, code) => {
    const error = Object.assign(new Error('as the server says'), { name, $metadata: { httpStatusCode } })
    expect(sinkError(error, 'Writing x', { bucket: 'b', endpoint: undefined })).toMatchObject({ code })
  })
})
