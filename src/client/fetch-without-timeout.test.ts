import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { createClient } from './api-client.js'
import { fetchWithoutTimeout } from './fetch-without-timeout.js'

let server: Server | null = null
afterEach(() => new Promise<void>((resolve) => (server === null ? resolve() : server.close(() => resolve()))))

async function listening(made: Server): Promise<string> {
  server = made
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}`
}

it('sends and receives as fetch does', async () => {
  const url = await listening(
    createServer(async (request, response) => {
      const pieces: Buffer[] = []
      for await (const piece of request) pieces.push(piece as Buffer)
      response.writeHead(202, { 'content-type': 'application/json', 'set-cookie': ['a=1', 'b=2'] })
      response.end(
        JSON.stringify({
          method: request.method,
          token: request.headers.authorization,
          body: Buffer.concat(pieces).toString(),
        }),
      )
    }),
  )
  const headers = { authorization: 'Bearer x' }
  const answer = await fetchWithoutTimeout(
    new Request(`${url}/runs?limit=1`, { method: 'POST', headers, body: 'café' }),
  )
  expect(answer.status).toBe(202)
  expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  expect(await answer.json()).toEqual({ method: 'POST', token: 'Bearer x', body: 'café' })
})

it('serves one request of a client, with the token of all', async () => {
  const url = await listening(
    createServer((request, response) => {
      response.writeHead(403, { 'content-type': 'application/problem+json' })
      response.end(JSON.stringify({ code: request.headers.authorization, detail: request.url }))
    }),
  )
  const api = createClient({ url, token: 'x', fetch: () => Promise.reject(new Error('not this one')) })
  const params = { path: { id: '1' }, query: { deep: true } }
  const { error, response } = await api.GET('/pipelines/{id}/reconcile', {
    params,
    fetch: fetchWithoutTimeout,
  })
  expect(response.status).toBe(403)
  expect(error).toEqual({ code: 'Bearer x', detail: '/api/v1/pipelines/1/reconcile?deep=true' })
})

it('waits for a server that does not respond, until it is aborted', async () => {
  const giveUp = new AbortController()
  const url = await listening(createServer(() => giveUp.abort()))
  const answer = fetchWithoutTimeout(new Request(url, { signal: giveUp.signal }))
  await expect(answer).rejects.toMatchObject({ message: 'fetch failed', cause: { name: 'AbortError' } })
})

it('gives the reason when nothing listens', async () => {
  const url = await listening(createServer())
  await new Promise((resolve) => server!.close(resolve))
  server = null
  await expect(fetchWithoutTimeout(new Request(url))).rejects.toMatchObject({
    cause: { code: 'ECONNREFUSED' },
  })
})
