import { inPath } from './browser.mjs'

/** A PgBouncer on this machine: `{ path }`, or `{ missing }` with the reason. */
export function findPgBouncer() {
  const path = inPath('pgbouncer')
  return path === null
    ? { missing: 'pgbouncer was not found in PATH or /usr/sbin; install the package "pgbouncer"' }
    : { path }
}
