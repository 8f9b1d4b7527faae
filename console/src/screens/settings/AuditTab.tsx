import { Button, Group } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { auditQuery } from '../../api/audit.js'
import { useMay } from '../../api/session.js'
import type { AuditEntry } from '../../api/wire.js'
import { OlderButton } from '../../components/actions/OlderButton.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import records from '../../components/layout/records.module.css'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { useTexts } from '../../i18n/texts.js'
import { AuditFilters } from './AuditFilters.js'
import { AuditLine } from './AuditLine.js'
import { auditTexts } from './audit-texts.js'
import { NotAllowed } from './NotAllowed.js'
import { type AuditSearch, auditFilterOf, isFiltered, isSingleEntry } from './search.js'
import styles from './settings.module.css'
import { useSettingsPage } from './use-settings-page.js'

export function AuditTab() {
  useSettingsPage('audit')
  return useMay('admin') ? <Audit /> : <NotAllowed what="audit" />
}

function Audit() {
  const texts = useTexts(auditTexts)
  const search = useSearch({ from: '/settings/audit' })
  const query = useInfiniteQuery(auditQuery(auditFilterOf(search)))
  const entries = useMemo(() => query.data?.pages.flatMap(({ items }) => items), [query.data])
  const reread = () => void query.refetch()
  return (
    <>
      {isSingleEntry(search) ? (
        <SingleEntry search={search} />
      ) : (
        <AuditFilters search={search} isLoading={query.isRefetching} onReload={reread} />
      )}
      {query.error === null ? null : <ProblemCard error={query.error} onRetry={reread} />}
      {entries === undefined ? (
        query.error === null && <Skeleton lines={10} height={28} />
      ) : (
        <Entries entries={entries} search={search} isDimmed={query.isPlaceholderData} />
      )}
      <OlderButton query={query}>{texts.older}</OlderButton>
    </>
  )
}

/** One entry, or the entries of one request, opened by a link. */
function SingleEntry({ search: { entry, request } }: { readonly search: AuditSearch }) {
  const texts = useTexts(auditTexts)
  return (
    <Group gap={8}>
      <p className={styles.note} role="status">
        {entry === undefined ? (
          <>
            {texts.onlyRequest} <code className="v-mono">{request}</code>
          </>
        ) : (
          texts.onlyEntry(entry)
        )}
      </p>
      <Button component={Link} to="/settings/audit" variant="default">
        {texts.showAll}
      </Button>
    </Group>
  )
}

interface EntriesProps {
  readonly entries: readonly AuditEntry[]
  readonly search: AuditSearch
  readonly isDimmed: boolean
}

function Entries({ entries, search, isDimmed }: EntriesProps) {
  const texts = useTexts(auditTexts)
  if (entries.length === 0) return <Nothing search={search} />
  return (
    <>
      <div className={records.box}>
        <ol className={styles.entries} aria-label={texts.title} data-dimmed={isDimmed || undefined}>
          {entries.map((entry) => (
            <AuditLine key={entry.id} entry={entry} isOpenAtFirst={isSingleEntry(search)} />
          ))}
        </ol>
      </div>
      <p className={styles.note} role="status">
        {texts.shown(entries.length)}
      </p>
    </>
  )
}

function Nothing({ search }: { readonly search: AuditSearch }) {
  const { noEntry, none, empty } = useTexts(auditTexts)
  if (isSingleEntry(search))
    return (
      <EmptyState icon="check" title={noEntry.title}>
        {noEntry.text}
      </EmptyState>
    )
  if (!isFiltered(search))
    return (
      <EmptyState icon="clock" title={empty.title}>
        {empty.text}
      </EmptyState>
    )
  return (
    <EmptyState icon="search" title={none.title} link={{ to: '/settings/audit', label: none.clear }}>
      {none.text}
    </EmptyState>
  )
}
