import { setMaxListeners } from 'node:events'
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3'
import type { S3Settings } from './config.js'
import { type BucketAddress, isAbsent, isConditionFailed, sinkError } from './errors.js'
import { loadS3Client } from './libraries.js'

/** Long enough for a slow network; a server that is down refuses connections at once. */
const CONNECT_MS = 5_000
const SILENCE_MS = 60_000
/** Retries by the client itself, with growing delays: lost connections, 5xx, "slow down". */
const ATTEMPTS = 3
const DELETED_AT_ONCE = 1000
const LISTENERS = 100

export interface StoredObject {
  readonly bytes: Buffer
  readonly etag: string
}

interface NewObject {
  readonly key: string
  readonly body: Uint8Array
  /** Media type. */
  readonly type: string
}

/** Condition for a write: the object has this version, or does not exist. */
export type WriteCondition = { readonly etag: string } | 'absent'

/** One bucket. Every failure is a VitrinaError whose class says whether a retry makes sense. */
export class Bucket {
  readonly name: string
  readonly #client: S3Client
  readonly #sdk: typeof import('@aws-sdk/client-s3')
  readonly #place: BucketAddress
  readonly #signal: AbortSignal

  private constructor(
    sdk: typeof import('@aws-sdk/client-s3'),
    settings: S3Settings & { readonly S3_BUCKET: string },
    signal: AbortSignal,
  ) {
    this.#sdk = sdk
    this.#client = new sdk.S3Client(clientOptions(settings))
    this.name = settings.S3_BUCKET
    this.#place = { bucket: settings.S3_BUCKET, endpoint: settings.S3_ENDPOINT }
    this.#signal = signal
    // Every request in progress adds a listener, and a batch with partitions has many.
    setMaxListeners(LISTENERS, signal)
  }

  static async open(
    settings: S3Settings & { readonly S3_BUCKET: string },
    signal: AbortSignal,
  ): Promise<Bucket> {
    return new Bucket(await loadS3Client(), settings, signal)
  }

  close(): void {
    this.#client.destroy()
  }

  async requireThere(): Promise<void> {
    const command = new this.#sdk.HeadBucketCommand({ Bucket: this.name })
    await this.#try('Checking the bucket', () => this.#client.send(command, { abortSignal: this.#signal }))
  }

  /** Null if the object does not exist. `range` is [first, end). */
  async get(key: string, range: readonly [number, number] | null = null): Promise<StoredObject | null> {
    const command = new this.#sdk.GetObjectCommand({
      Bucket: this.name,
      Key: key,
      ...(range === null ? {} : { Range: `bytes=${range[0]}-${range[1] - 1}` }),
    })
    return this.#try(`Reading ${key}`, async () => {
      try {
        const answer = await this.#client.send(command, { abortSignal: this.#signal })
        return { bytes: Buffer.from(await answer.Body!.transformToByteArray()), etag: answer.ETag ?? '' }
      } catch (error) {
        if (isAbsent(error)) return null
        throw error
      }
    })
  }

  /** Size of an object in bytes; null if it does not exist. */
  async size(key: string): Promise<number | null> {
    const command = new this.#sdk.HeadObjectCommand({ Bucket: this.name, Key: key })
    return this.#try(`Checking ${key}`, async () => {
      try {
        return (await this.#client.send(command, { abortSignal: this.#signal })).ContentLength ?? 0
      } catch (error) {
        if (isAbsent(error)) return null
        throw error
      }
    })
  }

  async put(key: string, body: Uint8Array, type: string): Promise<void> {
    await this.#try(`Writing ${key}`, () => this.#send({ key, body, type }))
  }

  /** Returns false if the object no longer meets the condition. */
  async putIf(object: NewObject, condition: WriteCondition): Promise<boolean> {
    const header = condition === 'absent' ? { IfNoneMatch: '*' } : { IfMatch: condition.etag }
    return this.#try(`Writing ${object.key}`, async () => {
      try {
        await this.#send(object, header)
        return true
      } catch (error) {
        if (isConditionFailed(error) || (condition !== 'absent' && isAbsent(error))) return false
        throw error
      }
    })
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (let start = 0; start < keys.length; start += DELETED_AT_ONCE) {
      const Objects = keys.slice(start, start + DELETED_AT_ONCE).map((Key) => ({ Key }))
      const command = new this.#sdk.DeleteObjectsCommand({
        Bucket: this.name,
        Delete: { Objects, Quiet: true },
      })
      await this.#try('Deleting objects', () => this.#client.send(command, { abortSignal: this.#signal }))
    }
  }

  async *list(prefix: string): AsyncGenerator<{ readonly key: string; readonly modified: Date }> {
    let token: string | undefined
    do {
      const command = new this.#sdk.ListObjectsV2Command({
        Bucket: this.name,
        Prefix: prefix,
        ContinuationToken: token,
      })
      const page = await this.#try(`Listing ${prefix}`, () =>
        this.#client.send(command, { abortSignal: this.#signal }),
      )
      for (const { Key, LastModified } of page.Contents ?? []) {
        if (Key !== undefined && LastModified !== undefined) yield { key: Key, modified: LastModified }
      }
      token = page.NextContinuationToken
    } while (token !== undefined)
  }

  #send({ key, body, type }: NewObject, condition: object = {}) {
    const command = new this.#sdk.PutObjectCommand({
      Bucket: this.name,
      Key: key,
      Body: body,
      ContentType: type,
      ...condition,
    })
    return this.#client.send(command, { abortSignal: this.#signal })
  }

  async #try<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      this.#signal.throwIfAborted()
      throw sinkError(error, what, this.#place)
    }
  }
}

function clientOptions(settings: S3Settings): S3ClientConfig {
  const { S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, S3_FORCE_PATH_STYLE } = settings
  const region = S3_REGION ?? (S3_ENDPOINT === undefined ? undefined : 'us-east-1')
  const credentials =
    S3_ACCESS_KEY_ID === undefined || S3_SECRET_ACCESS_KEY === undefined
      ? undefined
      : { accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY }
  return {
    ...(S3_ENDPOINT === undefined ? {} : { endpoint: S3_ENDPOINT }),
    ...(region === undefined ? {} : { region }),
    ...(credentials === undefined ? {} : { credentials }),
    forcePathStyle:
      S3_FORCE_PATH_STYLE === undefined ? S3_ENDPOINT !== undefined : S3_FORCE_PATH_STYLE === 'true',
    maxAttempts: ATTEMPTS,
    requestHandler: { connectionTimeout: CONNECT_MS, requestTimeout: SILENCE_MS },
  }
}
