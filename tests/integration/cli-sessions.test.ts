import { expect, it } from 'vitest'
import { aCliStand, TOKEN } from '../support/cli.js'

const stand = aCliStand()

/** What a browser has once it is signed in. */
async function signIn(token: string): Promise<Record<string, string>> {
  const answer = await fetch(`${stand().url}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf': '1', 'user-agent': 'A browser of a test' },
    body: JSON.stringify({ token }),
  })
  const { csrf_token } = (await answer.json()) as { csrf_token: string }
  return { cookie: answer.headers.get('set-cookie')!.split(';')[0]!, 'x-csrf': csrf_token }
}

const isSignedIn = async (headers: Record<string, string>) =>
  (await fetch(`${stand().url}/api/v1/pipelines`, { headers })).status === 200

it('shows who is signed in, and signs browsers out one by one or all at once', async () => {
  const { vitrina } = stand()
  expect((await vitrina('sessions', 'list')).stderr).toContain('No browser is signed in.')
  const other = (await vitrina('tokens', 'create', '--name', 'team', '--role', 'viewer')).stdout.trim()
  const [own, second, theirs] = [await signIn(TOKEN), await signIn(TOKEN), await signIn(other)]
  const list = (await vitrina('sessions', 'list')).stdout
  expect(list).toContain('A browser of a test')
  expect(list).not.toContain('team')
  const { items } = JSON.parse((await vitrina('sessions', 'list', '--everyone', '--json')).stdout)
  expect(items.map(({ name }: { name: string }) => name)).toEqual(['team', 'administrator', 'administrator'])
  const ended = await vitrina('sessions', 'end', items[1].id)
  expect([ended.code, ended.stdout.trim()]).toEqual([0, `Ended session ${items[1].id}.`])
  expect([await isSignedIn(own), await isSignedIn(second)]).toEqual([true, false])
  const again = await vitrina('sessions', 'end', items[1].id)
  expect([again.code, again.stderr.includes('There is no session')]).toEqual([1, true])
  expect((await vitrina('sessions', 'end', '--all')).stdout.trim()).toBe('Ended 1 session.')
  expect([await isSignedIn(own), await isSignedIn(theirs)]).toEqual([false, true])
  expect((await vitrina('sessions', 'end', '--all', '--everyone')).stdout.trim()).toBe('Ended 1 session.')
  expect(await isSignedIn(theirs)).toBe(false)
})

it.each([
  ['neither a session nor --all', ['sessions', 'end']],
  ['both of them', ['sessions', 'end', 'a', '--all']],
])('wants one of the two, not %s', async (_what, args) => {
  const { code, stderr } = await stand().vitrina(...args)
  expect([code, stderr.includes('Give either the id of a session or --all.')]).toEqual([2, true])
})
