import { createTransport } from 'nodemailer'
import { VitrinaError } from '../../model/errors.js'
import { reachOf } from '../addresses.js'
import { plainHost, type ResolvedHost, resolveAllowed } from '../allowed-host.js'
import type { Channel, ChannelOptions, Outgoing } from '../channel.js'

interface EmailConfig {
  /** smtp://user:password@host:587, or smtps:// for TLS from the start. */
  readonly url: string
  readonly from: string
  readonly to: readonly string[]
}

const TIME_LIMIT_MS = 10_000

export function emailChannel({ url: address, from, to }: EmailConfig, { allowed }: ChannelOptions): Channel {
  const url = new URL(address)
  const host = plainHost(url.hostname)
  return {
    type: 'email',
    host: url.host,
    async send({ message, text }: Outgoing) {
      const transport = createTransport(transportOf(url, await resolveAllowed(host, allowed)))
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
        return `${host} accepted the e-mail: ${response}`
      } catch (error) {
        throw failed(host, error as Error & { code?: string })
      } finally {
        transport.close()
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
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

function isLoopback(address: string): boolean {
  return reachOf(address) === 'internal' && (address === '::1' || address.startsWith('127.'))
}

function failed(host: string, error: Error & { code?: string }): VitrinaError {
  const isLogin = error.code === 'EAUTH'
  return new VitrinaError(
    'CHANNEL_FAILED',
    `${host} did not accept the e-mail: ${error.message.slice(0, 300)}`,
    isLogin
      ? 'The mail server rejected the login of the channel.'
      : 'Check that the mail server is running, that the API server may connect to it, and that it accepts sender and recipients.',
    { cause: error },
  )
}
