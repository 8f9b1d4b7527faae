import { request as askHttp } from 'node:http'
import { request as askHttps } from 'node:https'

/** Many routers drop an idle connection after some minutes; this keeps it alive. */
const SIGN_OF_LIFE_MS = 30_000

/**
 * fetch for requests that take the server long: the built-in one times out if the first byte of the response has not
 * arrived after five minutes, and has no option for it. This one waits as long as the connection lives.
 */
export async function fetchWithoutTimeout(request: Request): Promise<Response> {
  const body = Buffer.from(await request.arrayBuffer())
  const { method, headers, signal, url } = request
  const ask = new URL(url).protocol === 'https:' ? askHttps : askHttp
  return new Promise((resolve, reject) => {
    const failed = (cause: Error) => reject(new TypeError('fetch failed', { cause }))
    const question = ask(url, { method, headers: Object.fromEntries(headers), signal }, (answer) => {
      const pieces: Buffer[] = []
      answer.on('data', (piece: Buffer) => pieces.push(piece))
      answer.on('error', failed)
      answer.on('end', () => {
        const headers = Object.entries(answer.headersDistinct).flatMap(([name, values]) =>
          (values ?? []).map((value): [string, string] => [name, value]),
        )
        resolve(new Response(Buffer.concat(pieces), { status: answer.statusCode ?? 502, headers }))
      })
    })
    question.setSocketKeepAlive(true, SIGN_OF_LIFE_MS)
    question.on('error', failed)
    question.end(body)
  })
}
