/**
 * The part of our environment passed to initdb, the server and the guard. PGPORT, PGDATA, TZ, NODE_OPTIONS and
 * similar would change their behaviour, and they must not see our passwords.
 */
export const CHILD_ENV: NodeJS.ProcessEnv = { LC_ALL: 'C', PATH: process.env.PATH ?? '/usr/bin:/bin' }
