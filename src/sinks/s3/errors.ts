import { VitrinaError } from '../../model/errors.js'

/** Where a request was sent, for the message. */
export interface BucketAddress {
  readonly bucket: string
  readonly endpoint: string | undefined
}

/** The relevant part of errors of the AWS client. */
interface ServiceError {
  readonly name?: string
  readonly code?: string
  readonly message?: string
  readonly $metadata?: { readonly httpStatusCode?: number }
}

const LOGIN = new Set([
  'AccessDenied',
  'AllAccessDisabled',
  'CredentialsProviderError',
  'ExpiredToken',
  'ExpiredTokenException',
  'Forbidden',
  'InvalidAccessKeyId',
  'InvalidToken',
  'SignatureDoesNotMatch',
  'TokenProviderError',
  '403',
])
const BUSY = new Set([
  'SlowDown',
  'ServiceUnavailable',
  'TooManyRequests',
  'RequestLimitExceeded',
  'Throttling',
  'ThrottlingException',
])
const CONDITION = new Set(['PreconditionFailed', 'ConditionalRequestConflict'])

function statusOf(error: unknown): number | null {
  return (error as ServiceError)?.$metadata?.httpStatusCode ?? null
}

/** The object was written by another session between our read and our write. */
export function isConditionFailed(error: unknown): boolean {
  const status = statusOf(error)
  return CONDITION.has((error as ServiceError)?.name ?? '') || status === 412 || status === 409
}

export function isAbsent(error: unknown): boolean {
  return (error as ServiceError)?.name !== 'NoSuchBucket' && statusOf(error) === 404
}

/** The class decides about retries. Includes the server's message but nothing of the request, which is signed. */
export function sinkError(error: unknown, what: string, place: BucketAddress): VitrinaError {
  if (error instanceof VitrinaError) return error
  const { name = 'Error', message = String(error) } = (error ?? {}) as ServiceError
  const status = statusOf(error)
  const where = `bucket ${place.bucket}${place.endpoint === undefined ? '' : ` at ${place.endpoint}`}`
  const sentence = `${what} failed in ${where}: ${name}${message === '' || message === name ? '' : `, ${message}`}.`
  if (LOGIN.has(name) || status === 401 || status === 403) return loginError(sentence)
  if (name === 'NoSuchBucket' || (name === 'NotFound' && status === 404))
    return new VitrinaError(
      'SINK_REFUSED',
      `The ${where} does not exist.`,
      'Create the bucket, or correct S3_BUCKET and S3_ENDPOINT.',
    )
  if (BUSY.has(name) || status === 429 || status === 503)
    return new VitrinaError(
      'SINK_OVERLOADED',
      sentence,
      'Vitrina retries automatically; if the server stays busy, reduce its load or add capacity.',
    )
  if (status === null || status >= 500)
    return new VitrinaError(
      'SINK_UNAVAILABLE',
      sentence,
      'Check that the server is running and reachable from here (S3_ENDPOINT, S3_REGION, network).',
    )
  return new VitrinaError(
    'SINK_REFUSED',
    sentence,
    'Check the reason given by the server: permissions, quotas, bucket policies.',
  )
}

function loginError(sentence: string): VitrinaError {
  return new VitrinaError(
    'SINK_LOGIN',
    sentence,
    'Correct S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, and grant permission to list the bucket and to read, write and delete its objects.',
  )
}
