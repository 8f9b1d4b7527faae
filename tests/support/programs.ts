import type { TestProject } from 'vitest/node'
import type { Found } from './found.js'
import { findPgBouncer } from './pgbouncer.js'
import { postgresBin } from './postgres-versions.js'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder with the programs of the oldest supported PostgreSQL. */
    oldestPostgres: Found
    /** The same of the newest version that Vitrina rejects. */
    tooOldPostgres: Found
    pgbouncer: Found
  }
}

const OLDEST = '14'
const TOO_OLD = '13'

/**
 * Run by vitest once, before all files: everything to be downloaded or installed is available when the first test
 * starts.
 */
export async function setup(project: TestProject): Promise<void> {
  project.provide('oldestPostgres', await findPostgres(OLDEST))
  project.provide('tooOldPostgres', await findPostgres(TOO_OLD))
  project.provide('pgbouncer', await findPgBouncer())
}

async function findPostgres(version: string): Promise<Found> {
  try {
    const path = await postgresBin(version)
    return path === null ? { missing: `PostgreSQL ${version} is the embedded server` } : { path }
  } catch (error) {
    return { missing: `PostgreSQL ${version} could not be downloaded: ${String(error).split('\n')[0]}` }
  }
}
