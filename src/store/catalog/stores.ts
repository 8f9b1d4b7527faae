import type { Database } from '../database.js'
import { CatalogRepository } from './catalog.repository.js'
import { CatalogChecksRepository } from './checks.repository.js'
import { CatalogComparisonsRepository } from './comparisons.repository.js'
import { CatalogControlRepository } from './control.repository.js'
import { CatalogEditorRepository } from './editor.repository.js'
import { CatalogFreshnessRepository } from './freshness.repository.js'
import { CatalogJournalRepository } from './journal.repository.js'
import { CatalogNotificationsRepository } from './notifications.repository.js'
import { CatalogProfilesRepository } from './profiles.repository.js'
import { CatalogQuarantineRepository } from './quarantine/quarantine.repository.js'
import { CatalogSessionsRepository } from './sessions.repository.js'
import { CatalogTokensRepository } from './tokens.repository.js'

/** Everything that the API needs from the meta store, over the same connections. */
export function catalogStores(database: Database) {
  return {
    catalog: new CatalogRepository(database),
    editor: new CatalogEditorRepository(database),
    control: new CatalogControlRepository(database),
    quarantine: new CatalogQuarantineRepository(database),
    comparisons: new CatalogComparisonsRepository(database),
    freshness: new CatalogFreshnessRepository(database),
    profiles: new CatalogProfilesRepository(database),
    checks: new CatalogChecksRepository(database),
    sessions: new CatalogSessionsRepository(database),
    tokens: new CatalogTokensRepository(database),
    notifications: new CatalogNotificationsRepository(database),
    journal: new CatalogJournalRepository(database),
  }
}
