import { Socket } from 'node:net'
import { createTransport } from 'nodemailer'
import { VitrinaError } from '../../model/errors.js'
import { reachOf } from '../addresses.js'
import { plainHost, type ResolvedHost, resolveAllowed } from '../allowed-host.js'
import type { Channel, ChannelOptions, OutgoingMessage } from '../channel.js'
import { withoutSecrets } from '../secrets.js'

interface EmailConfig {
  /** smtp://user:password@host:587, or smtps:// for TLS from the start. */
  readonly url: string
  readonly from: string
  readonly to: readonly string[]
}

const TIME_LIMIT_MS = 10_000
/** Of one response of the server. */
const MOST_BYTES = 16 * 1024
const MOST_SHOWN = 300

export function emailChannel({ url: address, from, to }: EmailConfig, { allowed }: ChannelOptions): Channel {
  const url = new URL(address)
  const host = plainHost(url.hostname)
  return {
    type: 'email',
    host: url.host,
    async send({ message, text, signal }: OutgoingMessage) {
      // In all: a server that continues its answer line by line would never be idle, and hold up all other messages.
      const limit = AbortSignal.timeout(TIME_LIMIT_MS)
      const ends = signal === undefined ? limit : AbortSignal.any([signal, limit])
      const resolved = await resolveAllowed(host, allowed, ends)
      const socket = new Socket({ signal: ends }).on('error', () => {})
      const transport = createTransport({ ...transportOf(url, resolved), socket })
      try {
        const { response } = await transport.sendMail({
          from,
          to: [...to],
          subject: text.title,
          text: [...text.lines, '', text.link].join('\n'),
          // The same at every attempt: mail servers and readers recognize a repetition by it.
          messageId: `<${message.id}@vitrina>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
        })
        return `${host} accepted the e-mail: ${shown(url, response)}`
      } catch (error) {
        if (limit.aborted) throw late(host, error)
        throw failed(url, error as Error & { code?: string })
      } finally {
        transport.close()
        socket.destroy()
      }
    },
  }
}

function transportOf(url: URL, { address }: ResolvedHost) {
  const isSecure = url.protocol === 'smtps:'
  const host = plainHost(url.hostname)
  const user = decodeURIComponent(url.username)
  return {
    // The checked address: nodemailer would resolve the name a second time.
    host: address,
    port: Number(url.port) || (isSecure ? 465 : 587),
    secure: isSecure,
    tls: { servername: host },
    ...(user === '' ? {} : { auth: { user, pass: decodeURIComponent(url.password) } }),
    // A password is not sent in the clear over a network.
    requireTLS: !isSecure && user !== '' && !isLoopback(address),
    connectionTimeout: TIME_LIMIT_MS,
    greetingTimeout: TIME_LIMIT_MS,
    socketTimeout: TIME_LIMIT_MS,
    maxResponseSize: MOST_BYTES,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

function isLoopback(address: string): boolean {
  return reachOf(address) === 'internal' && (address === '::1' || address.startsWith('127.'))
}

/** A server may repeat the login that it rejects. */
function shown({ username, password }: URL, response: string): string {
  // As the method PLAIN sends them.
  const login = `\0${decodeURIComponent(username)}\0${decodeURIComponent(password)}`
  return withoutSecrets(response, password === '' ? [] : [login, password]).slice(0, MOST_SHOWN)
}

function late(host: string, cause: unknown): VitrinaError {
  return new VitrinaError(
    'CHANNEL_FAILED',
    `${host} did not accept the e-mail within ${TIME_LIMIT_MS / 1000} s.`,
    'Check that the mail server is running and not overloaded.',
    { cause },
  )
}

function failed(url: URL, error: Error & { code?: string }): VitrinaError {
  const isLogin = error.code === 'EAUTH'
  return new VitrinaError(
    'CHANNEL_FAILED',
    `${plainHost(url.hostname)} did not accept the e-mail: ${shown(url, error.message)}`,
    isLogin
      ? 'The mail server rejected the login of the channel.'
      : 'Check that the mail server is running, that the API server may connect to it, and that it accepts sender and recipients.',
    { cause: error },
  )
}
