/**
 * Checks that deploy/ names every image that is pulled by its version and its content, and asks the registries which
 * content the versions have now:
 *   npm run images                 reports images that are not pinned, and tags that were moved
 *   npm run images -- --write      writes the digests of today's images
 *   npm run images -- --offline    only whether every image is pinned
 * A digest comes from a registry or from the files, never from anywhere else.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { failure, main, ROOT, say } from './lib/run.mjs'

const FILES = ['deploy/docker-compose.yml', 'deploy/Dockerfile', 'deploy/.env.sample']
/** NODE_IMAGE=registry/name:tag@sha256:… in a Dockerfile or an .env file, ${NODE_IMAGE:-registry/name:tag@…} in compose. */
const IMAGE = /([A-Z]+_IMAGE)(=|:-)([\w./:-]+?)(@sha256:[0-9a-f]*)?(?=[}\s]|$)/g
const DIGEST = /^sha256:[0-9a-f]{64}$/
/** An index of all platforms, or the only image. */
const ACCEPT = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ')
const TIMEOUT_MS = 30_000

const options = process.argv.slice(2)
const unknown = options.find((option) => !/^--(?:offline|write|folder=.+)$/.test(option))
const folder = options.find((option) => option.startsWith('--folder='))?.slice('--folder='.length) ?? ROOT

await main(async () => {
  if (unknown !== undefined) throw failure(`Unknown option ${unknown}.`, 'Use --offline or --write, or none.')
  const images = readImages()
  const findings = []
  for (const image of images) findings.push(await examine(image))
  for (const { mark, text } of findings) say(`${mark} ${text}`)
  return findings.some(({ mark }) => mark === '✗') ? 1 : 0
})

/** Each image with all places that name it; their digests must agree. */
function readImages() {
  const found = new Map()
  for (const file of FILES)
    for (const [, variable, , name, digest] of readFileSync(join(folder, file), 'utf8').matchAll(IMAGE)) {
      const image = found.get(`${variable} ${name}`) ?? { variable, name, digests: new Set() }
      image.digests.add(digest?.slice(1) ?? null)
      found.set(`${variable} ${name}`, image)
    }
  if (found.size === 0) throw failure(`No image is named in ${FILES.join(', ')}.`)
  return [...found.values()]
}

async function examine({ variable, name, digests }) {
  const [pinned] = digests
  const shown = `${variable} ${name}`
  const isPinned = digests.size === 1 && DIGEST.test(pinned ?? '')
  const problem = `${shown} ${digests.size > 1 ? 'has several digests' : 'is not pinned to a digest'}`
  if (options.includes('--offline'))
    return isPinned ? { mark: '✓', text: `${shown} is pinned` } : { mark: '✗', text: problem }
  const now = await digestOf(name).catch((error) => error)
  if (now instanceof Error) return { mark: '✗', text: `${shown}: ${now.message}` }
  if (isPinned && now === pinned) return { mark: '✓', text: `${shown} is pinned to what the tag names` }
  if (!options.includes('--write'))
    return isPinned
      ? { mark: '•', text: `${shown}: the tag now names ${now}; it is pinned to ${pinned}` }
      : { mark: '✗', text: `${problem}; the tag names ${now}` }
  write(variable, name, now)
  return { mark: '✓', text: `${shown} is now pinned to ${now}` }
}

function write(variable, name, digest) {
  for (const file of FILES) {
    const path = join(folder, file)
    const text = readFileSync(path, 'utf8')
    const changed = text.replace(IMAGE, (whole, ...[itsVariable, sign, itsName]) =>
      itsVariable === variable && itsName === name ? `${variable}${sign}${name}@${digest}` : whole,
    )
    if (changed !== text) writeFileSync(path, changed)
  }
}

/** What the registry says that the tag names: the protocol of the OCI, with an anonymous token if one is required. */
async function digestOf(name) {
  const { registry, repository, tag } = parse(name)
  const url = `${registry}/v2/${repository}/manifests/${tag}`
  const ask = (headers) =>
    fetch(url, {
      method: 'HEAD',
      headers: { accept: ACCEPT, ...headers },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
  let response = await ask({}).catch((error) => {
    throw new Error(`${registry} cannot be reached (${error.cause?.code ?? error.message})`)
  })
  if (response.status === 401)
    response = await ask({ authorization: `Bearer ${await anonymousToken(response, registry)}` })
  const digest = response.headers.get('docker-content-digest')
  if (response.ok && DIGEST.test(digest ?? '')) return digest
  throw new Error(`${registry} responded with ${response.status}${response.ok ? ' and no digest' : ''}`)
}

function parse(name) {
  const found = /^([^/]+\.[^/]+|localhost:\d+|127\.0\.0\.1:\d+)\/(.+):([^:/]+)$/.exec(name)
  if (found === null) throw new Error('the name needs a registry and a tag')
  const [, host, repository, tag] = found
  const isLocal = /^(?:localhost|127\.0\.0\.1):/.test(host)
  const registry = host === 'docker.io' ? 'registry-1.docker.io' : host
  return { registry: `${isLocal ? 'http' : 'https'}://${registry}`, repository, tag }
}

async function anonymousToken(response, registry) {
  const challenge = response.headers.get('www-authenticate') ?? ''
  const { realm, ...query } = Object.fromEntries(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
  )
  if (realm === undefined) throw new Error(`${registry} requires a login`)
  const url = new URL(realm)
  for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value)
  const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
  const { token, access_token: other } = answer.ok ? await answer.json() : {}
  if ((token ?? other) === undefined) throw new Error(`${registry} requires a login`)
  return token ?? other
}
