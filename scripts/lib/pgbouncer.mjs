import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { say } from './run.mjs'

/** A PgBouncer on this machine, installed where that needs no password. Returns `{ path }`, or `{ missing }` with the reason. */
export function findPgBouncer() {
  const path = inPath() ?? (install() ? inPath() : null)
  return path === null
    ? { missing: 'there is no pgbouncer in PATH or /usr/sbin; install the package "pgbouncer"' }
    : { path }
}

function inPath() {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  return folders.map((folder) => join(folder, 'pgbouncer')).find(isExecutable) ?? null
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function install() {
  if (process.getuid?.() !== 0) return false
  say('• Installing pgbouncer with apt-get')
  const apt = (...args) =>
    spawnSync('apt-get', args, {
      stdio: 'ignore',
      timeout: 240_000,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    }).status === 0
  const want = ['install', '-y', '--no-install-recommends', 'pgbouncer']
  return apt(...want) || (apt('update') && apt(...want))
}
