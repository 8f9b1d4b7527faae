import { VitrinaError } from '../../model/errors.js'
import type { HttpResponse, NoResponse } from './client.js'

/** An error as returned by the server, in a body or in an item of a bulk. */
export interface ServerError {
  readonly type: string
  readonly reason?: string | null
  readonly caused_by?: ServerError
}

const SHORT = 400

/** Whether a later retry may succeed: the server is overloaded, restarting or relocating shards. */
export function isTemporary(status: number): boolean {
  return status === 429 || status >= 500
}

/** The most helpful description: the innermost cause says what, the outermost says where. */
export function reasonOf(error: ServerError): string {
  const texts = new Set<string>()
  for (let at: ServerError | undefined = error; at !== undefined; at = at.caused_by)
    texts.add(`${at.reason ?? at.type}`.replace(/\n at \[Source[\s\S]*/, '').trim())
  const text = `${error.type}: ${[...texts].join('; ')}`
  return text.length > SHORT ? `${text.slice(0, SHORT)}…` : text
}

/** The error of a failed request. A proxy may respond with a page or an empty body. */
export function errorOf(answer: HttpResponse): ServerError {
  try {
    const { error } = JSON.parse(answer.body) as { error?: ServerError | string }
    if (typeof error === 'object') return error
    if (error !== undefined) return { type: error }
  } catch {
    // Not JSON: only the status is known.
  }
  return { type: `HTTP ${answer.status}`, reason: answer.body.slice(0, 200) }
}

/** Classifies one status and error, of a request or of an item. */
export function sinkError(status: number, error: ServerError, target: string): VitrinaError {
  const reason = reasonOf(error)
  if (isBlock(error))
    return new VitrinaError(
      'SINK_BLOCKED',
      `${target} is blocked for writes: ${reason}`,
      'Remove the block (index.blocks.* in the index settings); Elasticsearch sets read_only_allow_delete itself when a disk is full. The run resumes from its checkpoint.',
    )
  if (error.type === 'index_not_found_exception') return gone(target, reason)
  if (status === 401 || status === 403)
    return new VitrinaError(
      'SINK_LOGIN',
      `Elasticsearch denied access to ${target}: ${reason}`,
      'Check ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USERNAME and ELASTICSEARCH_PASSWORD; docs/guides/elasticsearch.md lists the required privileges.',
    )
  if (isTemporary(status))
    return new VitrinaError(
      'SINK_OVERLOADED',
      `Elasticsearch kept rejecting writes to ${target} until the retry limit: ${reason}`,
      'Check the cluster health (GET _cluster/health); a smaller ELASTICSEARCH_PARALLEL_BULKS reduces the load. The run resumes from its checkpoint.',
    )
  return new VitrinaError(
    'SINK_REFUSED',
    `Elasticsearch rejected a request for ${target} with status ${status}: ${reason}`,
    'The reason comes from the server; correct the index or target_options.',
  )
}

export function gone(target: string, reason: string): VitrinaError {
  return new VitrinaError(
    'SINK_GONE',
    `The index of ${target} disappeared during the run: ${reason}`,
    'The next attempt creates the index again and reads the source from the beginning.',
  )
}

function isBlock({ type }: ServerError): boolean {
  return type === 'cluster_block_exception' || type === 'index_closed_exception'
}

const UNTRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME|ERR_TLS|EPROTO|ERR_SSL/

/** Retrying does not help when a certificate is not trusted. */
export function isUntrusted(error: NoResponse): boolean {
  return UNTRUSTED.test(String((error.cause as NodeJS.ErrnoException | undefined)?.code))
}

export function unavailable(error: NoResponse): VitrinaError {
  if (isUntrusted(error))
    return new VitrinaError(
      'SINK_REFUSED',
      `The certificate of Elasticsearch is not trusted, or the server does not support TLS: ${error.message}`,
      'Set ELASTICSEARCH_CA_FILE to the authority that signed the certificate, and use a host name that it is valid for.',
      { cause: error },
    )
  return new VitrinaError(
    'SINK_UNAVAILABLE',
    `Elasticsearch does not respond at ${error.message}`,
    'Check that the server is running and that ELASTICSEARCH_URL is correct. The run resumes from its checkpoint.',
    { cause: error },
  )
}
