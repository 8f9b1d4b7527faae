import { expect, it } from 'vitest'
import { rememberAction, takeLastAction } from './last-action.js'

function answered(method: string, path: string, { status = 200, requestId = 'r-1' } = {}): void {
  const response = new Response(null, { status, headers: { 'x-request-id': requestId } })
  rememberAction(new Request(`http://localhost/api/v1${path}`, { method }), response)
}

it('returns the request of the last action, once', () => {
  answered('POST', '/pipelines/1/run', { requestId: 'r-1' })
  answered('DELETE', '/tokens/1', { status: 204, requestId: 'r-2' })
  expect([takeLastAction(), takeLastAction()]).toEqual(['r-2', null])
})

it.each([
  ['reads', 'GET', '/pipelines', 200],
  ['was refused', 'POST', '/pipelines/1/run', 409],
  ['only validates', 'POST', '/pipelines/1/validate', 200],
  ['previews rows', 'POST', '/preview', 200],
  ['is a dry run', 'PATCH', '/pipelines/1?dry_run=true', 200],
  ['signs in', 'POST', '/session', 200],
])('ignores a request that %s', (_, method, path, status) => {
  answered(method, path, { status })
  expect(takeLastAction()).toBeNull()
})
