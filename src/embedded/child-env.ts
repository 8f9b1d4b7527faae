/**
 * All that initdb, the server and the guard see of our environment. PGPORT, PGDATA, TZ, NODE_OPTIONS and
 * friends would change what they do; passwords in it are none of their business.
 */
export const CHILD_ENV: NodeJS.ProcessEnv = { LC_ALL: 'C', PATH: process.env.PATH ?? '/usr/bin:/bin' }
