import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { onTestFinished } from 'vitest'

export interface ReceivedPost {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface HttpReceiver {
  readonly url: string
  readonly posts: ReceivedPost[]
  /** Responds to every request; 204 unless set. */
  answer: (response: ServerResponse, post: ReceivedPost) => void
  /** Needed only outside of a test. */
  close(): void
}

/** A receiver of webhooks on the loopback address. It closes with its test. */
export async function anHttpReceiver(): Promise<HttpReceiver> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => {
      const body = Buffer.concat(parts).toString('utf8')
      const post = { path: request.url ?? '', headers: request.headers, body }
      receiver.posts.push(post)
      receiver.answer(response, post)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  try {
    onTestFinished(close)
  } catch {
    // Not inside a test but in beforeAll: the file closes it.
  }
  const receiver: HttpReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    posts: [],
    answer: (response) => response.writeHead(204).end(),
    close,
  }
  return receiver
}

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  readonly text: string
}

export interface SmtpReceiver {
  readonly port: number
  readonly mails: ReceivedMail[]
  readonly logins: string[]
}

/** A mail server on the loopback address, with or without a login. It closes with the test. */
export async function anSmtpReceiver(login?: {
  readonly user: string
  readonly password: string
}): Promise<SmtpReceiver> {
  const mails: ReceivedMail[] = []
  const logins: string[] = []
  const server = new SMTPServer({
    authOptional: login === undefined,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS', ...(login === undefined ? ['AUTH'] : [])],
    onAuth({ username, password }, _session, done) {
      logins.push(username ?? '')
      if (username === login?.user && password === login?.password) done(null, { user: username })
      else done(new Error('Invalid username or password'))
    },
    onData(stream, { envelope }, done) {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => {
        mails.push({
          from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
          to: envelope.rcptTo.map(({ address }) => address),
          text: Buffer.concat(parts).toString('utf8'),
        })
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { port: (server.server.address() as AddressInfo).port, mails, logins }
}
