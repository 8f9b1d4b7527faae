import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { aFolder } from '../support/folders.js'
import { ROOT } from '../support/processes.js'

const FILES = ['docker-compose.yml', 'Dockerfile', '.env.sample']
const digest = (letter: string) => `sha256:${letter.repeat(64)}`

/** The files of deploy/ with other images. */
async function someFiles(change: (text: string) => string): Promise<string> {
  const folder = await aFolder()
  mkdirSync(join(folder, 'deploy'))
  for (const file of FILES) {
    cpSync(join(ROOT, 'deploy', file), join(folder, 'deploy', file))
    const path = join(folder, 'deploy', file)
    writeFileSync(path, change(readFileSync(path, 'utf8')))
  }
  return folder
}

function images(folder: string, ...options: string[]): Promise<{ code: number; text: string }> {
  const args = [join(ROOT, 'scripts/image-digests.mjs'), `--folder=${folder}`, ...options]
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env: { PATH: process.env.PATH } }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), text: stdout + stderr }),
    )
  })
}

/** A registry that requires an anonymous token, as public ones do. */
async function aRegistry(digests: Readonly<Record<string, string>>): Promise<string> {
  const server = createServer((request, response) => {
    const { host } = request.headers
    const { pathname, searchParams } = new URL(request.url ?? '/', `http://${host}`)
    if (pathname === '/token') {
      const token = searchParams.get('scope') === 'repository:pull' ? 'anonymous' : 'wrong'
      response.end(JSON.stringify({ token }))
      return
    }
    if (request.headers.authorization !== 'Bearer anonymous') {
      const challenge = `Bearer realm="http://${host}/token",service="registry",scope="repository:pull"`
      response.writeHead(401, { 'www-authenticate': challenge }).end()
      return
    }
    const found = digests[/^\/v2\/(.+)\/manifests\//.exec(pathname)?.[1] ?? '']
    const isIndexWanted = request.headers.accept?.includes('image.index') === true
    if (found === undefined || !isIndexWanted) response.writeHead(404).end()
    else response.writeHead(200, { 'docker-content-digest': found }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('the images of deploy/ are pinned', async () => {
  const { code, text } = await images(ROOT, '--offline')
  expect([code, text.match(/^✓ [A-Z]+_IMAGE .* is pinned$/gm)]).toEqual([
    0,
    expect.objectContaining({ length: 5 }),
  ])
})

it('an image without a digest, and one with several, are reported', async () => {
  const folder = await someFiles((text) => text.replace(/(grafana:[\d.]+)@sha256:\w+/, '$1'))
  const { code, text } = await images(folder, '--offline')
  expect([code, text]).toEqual([1, expect.stringMatching(/✗ GRAFANA_IMAGE .* is not pinned to a digest/)])
  const compose = join(folder, 'deploy/docker-compose.yml')
  const other = readFileSync(compose, 'utf8').replace(/(postgres:[\d.]+@)sha256:\w+/, `$1${digest('a')}`)
  writeFileSync(compose, other)
  expect((await images(folder, '--offline')).text).toMatch(/✗ POSTGRES_IMAGE .* has several digests/)
})

it('the digests that a registry reports are written to every file', async () => {
  const registry = await aRegistry({ 'library/node': digest('a'), 'library/postgres': digest('b') })
  const folder = await someFiles((text) =>
    text
      .replaceAll('docker.io/library/', `${registry}/library/`)
      .replace(/(library\/node:[\w.-]+)@sha256:\w+/g, '$1')
      // Others cannot be reached from a test.
      .replaceAll(/docker\.elastic\.co|docker\.io/g, registry),
  )
  const before = readFileSync(join(folder, 'deploy/Dockerfile'), 'utf8')
  const reported = await images(folder)
  expect(reported.code).toBe(1)
  expect(reported.text).toMatch(/✗ NODE_IMAGE .* is not pinned to a digest; the tag names sha256:a{64}/)
  expect(reported.text).toMatch(
    /• POSTGRES_IMAGE .*: the tag now names sha256:b{64}; it is pinned to sha256:3a/,
  )
  expect(reported.text).toMatch(/✗ GRAFANA_IMAGE .* responded with 404/)
  expect(readFileSync(join(folder, 'deploy/Dockerfile'), 'utf8')).toBe(before)

  const written = await images(folder, '--write')
  expect([written.code, written.text]).toEqual([1, expect.stringMatching(/✓ NODE_IMAGE .* is now pinned/)])
  for (const file of FILES) {
    const text = readFileSync(join(folder, 'deploy', file), 'utf8')
    if (file !== 'Dockerfile') expect(text).toMatch(/POSTGRES_IMAGE\S+library\/postgres:18\.4@sha256:b{64}/)
    expect(text).toMatch(/NODE_IMAGE\S+library\/node:[\w.-]+@sha256:a{64}[}\n]/)
  }
  expect((await images(folder)).text).toMatch(/✓ NODE_IMAGE .* is pinned to what the tag names/)
})
