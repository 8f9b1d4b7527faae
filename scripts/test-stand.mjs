import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'
import { ensureBuilt } from './lib/build.mjs'
import { endAll } from './lib/end-all.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { endWithNpm } from './lib/parent.mjs'
import { failure, main, ROOT, say, seconds } from './lib/run.mjs'
import { clean, ensureEngine, removeNetwork, run } from './lib/stand-engine.mjs'
import { ensureImages, imageSettings } from './lib/stand-images.mjs'
import { runTests } from './lib/vitest.mjs'

/** Images take 4 GB. Outside of the project, so that a fresh clone finds them. */
const CACHE = '/var/cache/vitrina/stand'

/** Builds deploy/Dockerfile and drives the compose file through `make`, with a real engine. */
endWithNpm()
await main(async () => {
  await ensureInstalled()
  await ensureBuilt()
  mkdirSync(CACHE, { recursive: true })
  const release = takeLock(join(CACHE, 'lock'))
  const folder = mkdtempSync(join(tmpdir(), 'vitrina-stand-'))
  try {
    const engine = await ensureEngine(CACHE)
    try {
      return await testIn(folder, engine)
    } finally {
      endAll(`VITRINA_TEST_STAND_FOLDER=${folder}`)
      await clean(engine)
      await removeNetwork()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
    release()
  }
})

async function testIn(folder, engine) {
  await clean(engine)
  await ensureImages(engine, CACHE)
  const command = await composeCommand(engine)
  copyProject(folder)
  await buildImage(folder, engine, command)
  const env = {
    ...engine.env,
    ...imageSettings(),
    ...{ VITRINA_TEST_STAND: command, VITRINA_TEST_STAND_FOLDER: folder },
  }
  return runTests(['tests/stand', ...process.argv.slice(2)], { env, within: engine.within })
}

/** As after a clone. */
function copyProject(folder) {
  const left = ['node_modules', 'dist', '.git', '.vitrina', '.env']
  const filter = (path) =>
    !relative(ROOT, path)
      .split(sep)
      .some((part) => left.includes(part))
  cpSync(ROOT, folder, { recursive: true, filter })
}

/** Here, because npm needs a network. `make up` in the tests then finds every layer in the cache. */
async function buildImage(folder, { env }, command) {
  const since = performance.now()
  say('• Building deploy/Dockerfile')
  const sample = readFileSync(join(folder, 'deploy/.env.sample'), 'utf8')
  const secrets = [...sample.matchAll(/^([A-Z_]+)=$/gm)].map(([, name]) => [name, 'not-used'])
  await run('sh', ['-c', `${command} --file deploy/docker-compose.yml build etl_migrate`], {
    cwd: folder,
    env: { ...env, ...imageSettings(), ...Object.fromEntries(secrets) },
    minutes: 25,
  })
  say(`  built in ${seconds(since)}`)
}

/** One at a time: both would take the same containers for theirs. */
function takeLock(file) {
  const owner = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (owner !== '' && existsSync(`/proc/${owner}`))
    throw failure(`Process ${owner} tests the stand on this machine already.`, 'Wait until it has ended.')
  writeFileSync(file, String(process.pid))
  return () => rmSync(file, { force: true })
}

/**
 * What the Makefile gets as ENGINE. npm inside a build knows nothing of this machine's registry and certificates: they
 * are mounted while it builds, and are not in the image.
 */
async function composeCommand({ compose }) {
  const globalConfig = (await run('npm', ['config', 'get', 'globalconfig'])).trim()
  const userConfig = (await run('npm', ['config', 'get', 'userconfig'])).trim()
  const mounts = [
    ['/etc/ssl/certs/ca-certificates.crt', '/etc/ssl/certs/ca-certificates.crt'],
    [userConfig, '/root/.npmrc'],
    [globalConfig, '/usr/local/etc/npmrc'],
  ].filter(([file]) => existsSync(file))
  const volumes = mounts.map(([from, to]) => `--volume ${from}:${to}:ro`)
  return `${compose} --podman-build-args="--pull=never --network=host ${volumes.join(' ')}"`
}
