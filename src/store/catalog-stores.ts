import { CatalogRepository } from './catalog.repository.js'
import { CatalogChecksRepository } from './catalog-checks.repository.js'
import { CatalogComparisonsRepository } from './catalog-comparisons.repository.js'
import { CatalogControlRepository } from './catalog-control.repository.js'
import { CatalogEditorRepository } from './catalog-editor.repository.js'
import { CatalogFreshnessRepository } from './catalog-freshness.repository.js'
import { CatalogJournalRepository } from './catalog-journal.repository.js'
import { CatalogNotificationsRepository } from './catalog-notifications.repository.js'
import { CatalogProfilesRepository } from './catalog-profiles.repository.js'
import { CatalogQuarantineRepository } from './catalog-quarantine.repository.js'
import { CatalogSessionsRepository } from './catalog-sessions.repository.js'
import { CatalogTokensRepository } from './catalog-tokens.repository.js'
import type { Database } from './database.js'

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
