import { chosenPasswords } from '../config/settings.js'
import { targetSchemas } from '../model/target.js'
import { migrate } from '../store/migrate.js'
import { grantRoles } from '../store/roles.js'
import type { MainSettings } from './environment.js'
import { requireUsableServer } from './usable-server.js'

export interface Prepared {
  /** The applied migrations. */
  readonly applied: readonly string[]
  /** Warnings about missing grants and untested servers. */
  readonly notices: readonly string[]
}

/**
 * Migrates the meta store to the version of this program and grants the three logins what they need. Safe to repeat.
 */
export async function prepareStore(settings: MainSettings): Promise<Prepared> {
  const { warnings } = await requireUsableServer(settings.DATABASE_URL)
  const applied = await migrate(settings.DATABASE_URL)
  const notices = await grantRoles({
    administratorUrl: settings.DATABASE_URL,
    passwords: chosenPasswords(settings),
    sourceSchemas: settings.ALLOWED_SOURCE_SCHEMAS,
    targetSchemas: targetSchemas({ tables: settings.ALLOWED_TARGET_TABLES }),
    connectionLimit: settings.VITRINA_LOGIN_SESSIONS,
  })
  return { applied, notices: [...warnings, ...notices] }
}
