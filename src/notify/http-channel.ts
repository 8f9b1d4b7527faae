import { VitrinaError } from '../model/errors.js'
import type { PostResponse } from './post.js'
import { secretsOf, withoutSecrets } from './secrets.js'

const MOST_SHOWN = 300

/** The receiver asked to wait this long before the next attempt. */
export class RetryLater extends VitrinaError {
  readonly seconds: number

  constructor(detail: string, hint: string, seconds: number) {
    super('CHANNEL_FAILED', detail, hint)
    this.seconds = seconds
  }
}

/**
 * The response in plain words if it accepts the message; throws otherwise. Receivers quote the request ("Cannot POST
 * /services/…"), and viewers can read the response: neither the address nor one of the `secrets` is shown.
 */
export function accepted(
  url: URL,
  { status, text, retrySeconds }: PostResponse,
  secrets: readonly string[] = [],
): string {
  const body = shortened(withoutSecrets(text, [...secretsOf(url), ...secrets]))
  const answer = `${url.hostname} responded with ${status}${body === '' ? '' : `: ${body}`}`
  if (status >= 200 && status < 300) return answer
  const hint = HINTS[status] ?? (status >= 500 ? BROKEN : 'Check the address and the secret of the channel.')
  if (retrySeconds !== null) throw new RetryLater(answer, hint, retrySeconds)
  throw new VitrinaError('CHANNEL_FAILED', answer, hint)
}

const BROKEN = 'The receiver has a problem. Check that it is running and not overloaded.'
const MOVED = 'Redirects are not followed. Set the final address in the channel.'
const HINTS: Readonly<Record<number, string>> = {
  301: MOVED,
  302: MOVED,
  303: MOVED,
  307: MOVED,
  308: MOVED,
  401: 'The receiver rejected the secret or the token of the channel.',
  403: 'The receiver rejected the secret or the token of the channel.',
  404: 'The address of the channel does not exist, or was revoked. Create a new one at the receiver.',
  410: 'The address of the channel was revoked. Create a new one at the receiver.',
  429: 'The receiver limits the number of messages. Raise repeat_seconds or lower max_per_hour of the rules.',
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > MOST_SHOWN ? `${line.slice(0, MOST_SHOWN)}…` : line
}
