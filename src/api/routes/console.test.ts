import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aDatabase } from '../../../tests/support/database.js'

let home: string
let api: TestApi
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'vitrina-console-'))
  const folder = join(home, 'dist')
  await mkdir(join(folder, 'assets'), { recursive: true })
  await writeFile(join(folder, 'index.html'), '<!doctype html><meta content="{{csp-nonce}}">')
  await writeFile(join(folder, 'assets', 'app-1a2b.js'), 'export {}')
  await writeFile(join(home, 'secret.txt'), 'secret')
  await writeFile(join(folder, '.built.json'), 'secret')
  await symlink(join(home, 'secret.txt'), join(folder, 'link.txt'))
  const database = await aDatabase()
  api = anApi(database.loginUrl('meta'), { consoleDir: folder })
})
afterAll(() => rm(home, { recursive: true }))

const get = (url: string) => api.app.inject({ url })

describe('the console', () => {
  it('is where the root redirects to', async () => {
    for (const url of ['/', '/ui']) expect((await get(url)).headers.location).toBe('/ui/')
  })

  it('is served without a token, with a policy that allows no foreign script', async () => {
    for (const url of ['/ui/', '/ui/index.html', '/ui/pipelines/film_dim']) {
      const answer = await get(url)
      expect(answer.statusCode).toBe(200)
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
      const [, nonce] = /^<!doctype html><meta content="([\w+/=]{24})">$/.exec(answer.body) ?? []
      expect(answer.headers['content-security-policy']).toContain(
        `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}';`,
      )
      expect(answer.headers['content-security-policy']).not.toContain('unsafe')
      expect(answer.headers['cache-control']).toBe('no-cache')
      expect(answer.headers['x-content-type-options']).toBe('nosniff')
    }
  })

  it('has a new nonce for every visit', async () => {
    expect((await get('/ui/')).body).not.toBe((await get('/ui/')).body)
  })

  it('allows browsers to cache files with a hash in their name', async () => {
    const answer = await get('/ui/assets/app-1a2b.js')
    expect(answer.headers['content-type']).toBe('text/javascript; charset=utf-8')
    expect(answer.headers['cache-control']).toContain('immutable')
  })

  it.each([
    'missing.js',
    '../secret.txt',
    '..%2fsecret.txt',
    '%2e%2e/secret.txt',
    'link.txt',
    '.built.json',
    'index.html%00.js',
    'assets/../../secret.txt',
  ])('serves nothing for %s', async (path) => {
    const answer = await get(`/ui/${path}`)
    expect(answer.statusCode).toBeGreaterThanOrEqual(400)
    expect(answer.body).not.toBe('secret')
    expect(answer.headers['content-type']).toMatch(/problem\+json/)
  })
})
