import { VitrinaError } from '../../model/errors.js'

/** Where a request went, for the sentence. */
export interface Place {
  readonly bucket: string
  readonly endpoint: string | undefined
}

/** What the AWS client throws, as far as we look at it. */
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

/** Somebody wrote the object between our look and our write. */
export function isConditionFailed(error: unknown): boolean {
  const status = statusOf(error)
  return CONDITION.has((error as ServiceError)?.name ?? '') || status === 412 || status === 409
}

export function isAbsent(error: unknown): boolean {
  return (error as ServiceError)?.name !== 'NoSuchBucket' && statusOf(error) === 404
}

/** The class decides about retries. Messages of the server are told, but nothing of the request: it is signed. */
export function sinkError(error: unknown, what: string, place: Place): VitrinaError {
  if (error instanceof VitrinaError) return error
  const { name = 'Error', message = String(error) } = (error ?? {}) as ServiceError
  const status = statusOf(error)
  const where = `bucket ${place.bucket}${place.endpoint === undefined ? '' : ` at ${place.endpoint}`}`
  const sentence = `${what} failed in ${where}: ${name}${message === '' || message === name ? '' : `, ${message}`}.`
  if (LOGIN.has(name) || status === 401 || status === 403) return loginError(sentence)
  if (name === 'NoSuchBucket' || (name === 'NotFound' && status === 404))
    return new VitrinaError(
      'SINK_REFUSED',
      `There is no ${where}.`,
      'Create the bucket, or correct S3_BUCKET and S3_ENDPOINT.',
    )
  if (BUSY.has(name) || status === 429 || status === 503)
    return new VitrinaError(
      'SINK_OVERLOADED',
      sentence,
      'It is tried again; a server that stays busy needs less work or more room.',
    )
  if (status === null || status >= 500)
    return new VitrinaError(
      'SINK_UNAVAILABLE',
      sentence,
      'See whether the server is up and reached from here (S3_ENDPOINT, S3_REGION, network).',
    )
  return new VitrinaError(
    'SINK_REFUSED',
    sentence,
    'See what the server says about the request: rights, quotas, policies of the bucket.',
  )
}

function loginError(sentence: string): VitrinaError {
  return new VitrinaError(
    'SINK_LOGIN',
    sentence,
    'Correct S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, and let them list the bucket and read, write and delete objects in it.',
  )
}
