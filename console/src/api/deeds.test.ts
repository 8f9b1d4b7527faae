import { expect, it } from 'vitest'
import { rememberDeed, takeDeed } from './deeds.js'

function answered(method: string, path: string, { status = 200, requestId = 'r-1' } = {}): void {
  const response = new Response(null, { status, headers: { 'x-request-id': requestId } })
  rememberDeed(new Request(`http://localhost/api/v1${path}`, { method }), response)
}

it('gives the request of the last deed, once', () => {
  answered('POST', '/pipelines/1/run', { requestId: 'r-1' })
  answered('DELETE', '/tokens/1', { status: 204, requestId: 'r-2' })
  expect([takeDeed(), takeDeed()]).toEqual(['r-2', null])
})

it.each([
  ['reads', 'GET', '/pipelines', 200],
  ['was refused', 'POST', '/pipelines/1/run', 409],
  ['only looks', 'POST', '/pipelines/1/validate', 200],
  ['shows first rows', 'POST', '/preview', 200],
  ['rehearses', 'PATCH', '/pipelines/1?dry_run=true', 200],
  ['signs in', 'POST', '/session', 200],
])('takes no request for a deed that %s', (_, method, path, status) => {
  answered(method, path, { status })
  expect(takeDeed()).toBeNull()
})
