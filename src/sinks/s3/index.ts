import { VitrinaError } from '../../model/errors.js'
import type { MartDefinition, Sink, SinkKind } from '../../ports/sink.js'
import { Bucket } from './client.js'
import { nameProblem, readOptions, S3_SETTINGS, type S3Options, type S3Settings } from './config.js'
import { INSTALL_HINT, loadParquet, missingPackages } from './libraries.js'
import { S3Sink } from './sink.js'
import { storageOf } from './types.js'

/** Parquet files in a bucket, under the addresses `s3:<prefix>`. */
export const s3 = {
  settings: S3_SETTINGS,
  create: (settings: S3Settings): SinkKind => s3Kind(settings, () => new Date()),
}

/** Takes a clock, because a test cannot wait for a retention of a day. */
export function s3Kind(settings: S3Settings, now: () => Date): SinkKind {
  return {
    kind: 's3',
    prefix: 's3:',
    allowList: { setting: 'ALLOWED_S3_PREFIXES', names: settings.ALLOWED_S3_PREFIXES },
    address: settings.S3_BUCKET === undefined ? null : placeOf(settings.S3_BUCKET, settings),
    missing: async () => missing(settings),
    nameProblem,
    datasetName: (name) =>
      settings.S3_BUCKET === undefined ? null : { namespace: `s3://${settings.S3_BUCKET}`, name },
    readOptions,
    ping: (signal) => ping(settings, signal),
    open: (mart) => open(settings, mart, now),
  }
}

function missing(settings: S3Settings): { message: string; hint: string } | null {
  if (settings.S3_BUCKET === undefined)
    return {
      message: 'S3_BUCKET is not set.',
      hint: 'Set S3_BUCKET, and S3_ENDPOINT if the server is not AWS.',
    }
  const absent = missingPackages()
  return absent.length === 0 ? null : { message: `Not installed: ${absent.join(', ')}.`, hint: INSTALL_HINT }
}

function placeOf(bucket: string, { S3_ENDPOINT: endpoint }: S3Settings): string {
  return endpoint === undefined ? bucket : `${bucket} at ${new URL(endpoint).origin}`
}

async function ping(settings: S3Settings, signal: AbortSignal): Promise<string> {
  const bucket = await Bucket.open(requireConfigured(settings), signal)
  try {
    await bucket.requireThere()
    return `bucket ${placeOf(bucket.name, settings)}`
  } finally {
    bucket.close()
  }
}

async function open(settings: S3Settings, mart: MartDefinition, now: () => Date): Promise<Sink> {
  const configured = requireConfigured(settings)
  const storages = mart.columns.map(storageOf)
  const parquet = await loadParquet()
  return new S3Sink({
    bucket: await Bucket.open(configured, mart.signal),
    parquet,
    prefix: `${mart.name}/`,
    columns: mart.columns,
    key: mart.key,
    storages,
    keys: mart.key.flatMap((name) => storages.find((storage) => storage.name === name) ?? []),
    options: mart.options as S3Options,
    brake: mart.brake,
    signal: mart.signal,
    now,
  })
}

function requireConfigured(settings: S3Settings): S3Settings & { readonly S3_BUCKET: string } {
  const lacking = missing(settings)
  if (lacking !== null) throw new VitrinaError('SINK_MISSING', lacking.message, lacking.hint)
  return settings as S3Settings & { readonly S3_BUCKET: string }
}
