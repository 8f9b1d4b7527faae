import { VitrinaError } from '../../model/errors.js'
import type { Answer, NoAnswer } from './client.js'

/** An error as the server describes it, in a body or in an item of a bulk. */
export interface ServerError {
  readonly type: string
  readonly reason?: string | null
  readonly caused_by?: ServerError
}

const SHORT = 400

/** May be sent again later: the server is overloaded, restarting, or moves shards about. */
export function mayPass(status: number): boolean {
  return status === 429 || status >= 500
}

/** The sentence that explains most: the innermost cause says what, the outermost says where. */
export function reasonOf(error: ServerError): string {
  const texts = new Set<string>()
  for (let at: ServerError | undefined = error; at !== undefined; at = at.caused_by)
    texts.add(`${at.reason ?? at.type}`.replace(/\n at \[Source[\s\S]*/, '').trim())
  const text = `${error.type}: ${[...texts].join('; ')}`
  return text.length > SHORT ? `${text.slice(0, SHORT)}…` : text
}

/** What a failed request says, whoever answered: a proxy in between answers with a page, or with nothing. */
export function errorOf(answer: Answer): ServerError {
  try {
    const { error } = JSON.parse(answer.body) as { error?: ServerError | string }
    if (typeof error === 'object') return error
    if (error !== undefined) return { type: error }
  } catch {
    // Not JSON: the status has to do.
  }
  return { type: `HTTP ${answer.status}`, reason: answer.body.slice(0, 200) }
}

/** One status and one error, of a request or of an item: what it means for the run. */
export function problemOf(status: number, error: ServerError, target: string): VitrinaError {
  const reason = reasonOf(error)
  if (isBlock(error))
    return new VitrinaError(
      'SINK_BLOCKED',
      `${target} is locked against writing: ${reason}`,
      'Take the block away (index.blocks.* in the settings of the index); a full disk sets read_only_allow_delete itself. Nothing is lost: the run goes on from its checkpoint.',
    )
  if (error.type === 'index_not_found_exception') return gone(target, reason)
  if (status === 401 || status === 403)
    return new VitrinaError(
      'SINK_LOGIN',
      `Elasticsearch does not let us work on ${target}: ${reason}`,
      'Check ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USERNAME and ELASTICSEARCH_PASSWORD; docs/guides/elasticsearch.md lists the privileges that are needed.',
    )
  if (mayPass(status))
    return new VitrinaError(
      'SINK_OVERLOADED',
      `Elasticsearch did not take what was written to ${target}, in spite of waiting: ${reason}`,
      'See how the cluster is (GET _cluster/health); a smaller ELASTICSEARCH_PARALLEL_BULKS is gentler. The run goes on from its checkpoint.',
    )
  return new VitrinaError(
    'SINK_REFUSED',
    `Elasticsearch refused a request about ${target} with ${status}: ${reason}`,
    'The reason is the server’s own; correct the index or the options of the target.',
  )
}

export function gone(target: string, reason: string): VitrinaError {
  return new VitrinaError(
    'SINK_GONE',
    `The index of ${target} disappeared during the run: ${reason}`,
    'The next attempt creates it anew and reads the source from the beginning.',
  )
}

function isBlock({ type }: ServerError): boolean {
  return type === 'cluster_block_exception' || type === 'index_closed_exception'
}

const UNTRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME|ERR_TLS|EPROTO|ERR_SSL/

/** A certificate that is not trusted does not become so by waiting. */
export function isUntrusted(error: NoAnswer): boolean {
  return UNTRUSTED.test(String((error.cause as NodeJS.ErrnoException | undefined)?.code))
}

export function unavailable(error: NoAnswer): VitrinaError {
  if (isUntrusted(error))
    return new VitrinaError(
      'SINK_REFUSED',
      `The certificate of Elasticsearch is not trusted, or it does not speak TLS: ${error.message}`,
      'Set ELASTICSEARCH_CA_FILE to the authority that signed it, and use the name that the certificate was made for.',
      { cause: error },
    )
  return new VitrinaError(
    'SINK_UNAVAILABLE',
    `Elasticsearch does not answer at ${error.message}`,
    'See whether it runs, and whether ELASTICSEARCH_URL is right. The run goes on from its checkpoint.',
    { cause: error },
  )
}
