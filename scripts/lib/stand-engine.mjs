import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { failure, ROOT, say, seconds } from './run.mjs'

/** Each with a file that shows that it is there. */
const PACKAGES = {
  podman: 'podman',
  runc: 'runc',
  conmon: 'conmon',
  catatonit: '/usr/bin/catatonit',
  netavark: '/usr/lib/podman/netavark',
  'aardvark-dns': '/usr/lib/podman/aardvark-dns',
  iptables: 'iptables',
  iproute2: 'ip',
  mmdebstrap: 'mmdebstrap',
  make: 'make',
  maven: 'mvn',
  'python3-venv': '/usr/share/doc/python3-venv',
}
const NAMESPACE = 'vitrina-stand'
const COMPOSE = 'podman-compose==1.6.0'
const HINT =
  'npm run test:stand needs Debian or Ubuntu, root, and the package indexes of Debian, npm, PyPI and Maven.'

/**
 * A podman of our own: settings, images and networks are below `folder`, and nothing of the machine's own is read or
 * changed. Returns the environment that every command needs.
 */
export async function ensureEngine(folder) {
  if (process.platform !== 'linux' || process.getuid() !== 0 || !existsSync('/usr/bin/apt-get'))
    throw failure('This machine cannot run the stand.', HINT)
  await installPackages()
  const env = { ...process.env, ...settings(folder) }
  const compose = join(folder, 'compose/bin/podman-compose')
  if (!existsSync(compose)) {
    await run('python3', ['-m', 'venv', join(folder, 'compose')])
    await run(join(folder, 'compose/bin/pip'), ['install', '--quiet', '--no-input', COMPOSE], { minutes: 5 })
  }
  const podman = (args, options = {}) => run('podman', args, { env, ...options })
  const within = await ensureNetwork()
  const inside = (args, options = {}) =>
    run(within[0], [...within.slice(1), 'podman', ...args], { env, ...options })
  return { env, podman, compose, within, inside }
}

/**
 * A network namespace for containers and tests: bridges and firewall rules of the stand are not added to those of the
 * machine, whose other programs notice every change (Chromium aborts its requests). Nothing in it reaches the outside,
 * so images are built without it. Returns the command that starts a program in it.
 */
async function ensureNetwork() {
  const file = `/run/netns/${NAMESPACE}`
  if (!existsSync(file)) await run('ip', ['netns', 'add', NAMESPACE])
  // Not "ip netns exec": that also hides the mounts of one container command from the next.
  const within = ['nsenter', `--net=${file}`]
  await run(within[0], [...within.slice(1), 'ip', 'link', 'set', 'lo', 'up'])
  return within
}

export async function removeNetwork() {
  await run('ip', ['netns', 'delete', NAMESPACE])
}

async function installPackages() {
  const missing = Object.entries(PACKAGES).flatMap(([name, file]) => (isThere(file) ? [] : [name]))
  if (missing.length === 0) return
  const since = performance.now()
  say(`• Installing ${missing.join(', ')}`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  await run('apt-get', ['update'], { env, minutes: 5 })
  await run('apt-get', ['install', '--yes', '--no-install-recommends', ...missing], { env, minutes: 15 })
  say(`  installed in ${seconds(since)}`)
}

function isThere(file) {
  if (file.startsWith('/')) return existsSync(file)
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, file)))
}

/** Where the machine's own settings would be read, ours are. */
function settings(folder) {
  const run = '/run/vitrina-stand'
  mkdirSync(join(folder, 'networks'), { recursive: true })
  mkdirSync(run, { recursive: true })
  const files = {
    CONTAINERS_CONF: join(folder, 'containers.conf'),
    CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf'),
  }
  // No default_ulimits: raising a limit needs a capability that root lacks inside some virtual machines.
  writeFileSync(
    files.CONTAINERS_CONF,
    `[containers]
default_ulimits = []
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "${run}/libpod"
[network]
network_backend = "netavark"
network_config_dir = "${folder}/networks"
`,
  )
  writeFileSync(
    files.CONTAINERS_STORAGE_CONF,
    `[storage]
driver = "overlay"
graphroot = "${folder}/storage"
runroot = "${run}/storage"
`,
  )
  return files
}

/** Runs a program with a time limit and returns its output; throws when it fails. */
export function run(file, args, { env = process.env, cwd = ROOT, minutes = 2 } = {}) {
  return new Promise((resolve, reject) => {
    const options = { env, cwd, timeout: minutes * 60_000, killSignal: 'SIGKILL', maxBuffer: 2 ** 26 }
    execFile(file, args, options, (error, stdout, stderr) => {
      if (!error) return resolve(stdout)
      const why = error.killed ? `did not end within ${minutes} minutes` : `failed with code ${error.code}`
      const tail = `${stdout}${stderr}`.trimEnd().split('\n').slice(-30).join('\n')
      reject(failure(`${file} ${args.slice(0, 3).join(' ')} … ${why}:\n${tail}`, HINT))
    })
  })
}

/** Removes every container, volume and network of this engine; images stay for the next time. */
export async function clean({ inside: podman }) {
  await removeContainers(podman)
  await podman(['volume', 'prune', '--force'])
  await podman(['network', 'prune', '--force'])
  // Layers of builds, which make the next build fast, until they are a week old.
  await podman(['image', 'prune', '--force', '--filter', 'until=168h'], { minutes: 5 })
}

/** Several times: a container that others depend on cannot be removed before them, and podman does not sort. */
async function removeContainers(podman) {
  for (let tries = 1; ; tries++) {
    // External ones are those of builds that were cut off.
    const left = (await podman(['ps', '--all', '--external', '--quiet'])).split('\n').filter(Boolean)
    if (left.length === 0) return
    try {
      await podman(['rm', '--force', '--time', '0', ...left], { minutes: 10 })
    } catch (error) {
      if (tries === 5) throw error
    }
  }
}
