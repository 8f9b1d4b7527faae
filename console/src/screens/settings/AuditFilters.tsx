import { Button, Group, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { auditCsvUrl } from '../../api/audit.js'
import { overviewQuery } from '../../api/pipelines.js'
import { DownloadButton } from '../../components/actions/DownloadButton.js'
import { SearchBox } from '../../components/search/SearchBox.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { auditTexts } from './audit-texts.js'
import { AUDIT_RANGES, type AuditRange, type AuditSearch, auditFilterOf, USUAL_RANGE } from './search.js'
import styles from './settings.module.css'

interface Props {
  readonly search: AuditSearch
  readonly isLoading: boolean
  readonly onReload: () => void
}

/** Filters are kept in the address: it can be shared, and the back button undoes a change. */
export function AuditFilters({ search, isLoading, onReload }: Props) {
  const texts = useTexts(auditTexts)
  const navigate = useNavigate()
  const { data } = useQuery(overviewQuery())
  const show = (change: Partial<AuditSearch>) =>
    void navigate({ to: '/settings/audit', search: { ...search, ...change } as never, replace: true })
  return (
    <Group gap={8}>
      <SearchBox
        className={styles.who}
        icon="user"
        label={texts.who}
        shortcut={texts.focusFilter}
        value={search.who}
        onChange={(who) => show({ who })}
      />
      <Select
        className={styles.what}
        aria-label={texts.what}
        placeholder={texts.what}
        clearable
        searchable
        data={useActions()}
        value={search.what ?? null}
        onChange={(value) => show({ what: value ?? undefined })}
      />
      <Select
        className={styles.pipeline}
        aria-label={texts.pipeline}
        placeholder={texts.pipeline}
        searchable
        clearable
        limit={100}
        data={(data?.items ?? []).map(({ id, name }) => ({ value: id, label: name }))}
        value={search.pipeline ?? null}
        onChange={(value) => show({ pipeline: value ?? undefined })}
      />
      <Select
        className={styles.range}
        aria-label={texts.range}
        allowDeselect={false}
        data={AUDIT_RANGES.map((value) => ({ value, label: texts.ranges[value] }))}
        value={search.range ?? USUAL_RANGE}
        onChange={(value) => show({ range: value === USUAL_RANGE ? undefined : (value as AuditRange) })}
      />
      <span className={styles.space} />
      <Button
        variant="default"
        leftSection={<Icon name="retry" size={14} />}
        loading={isLoading}
        onClick={onReload}
      >
        {texts.reload}
      </Button>
      <DownloadButton from={auditCsvUrl(auditFilterOf(search))} as="vitrina-audit.csv">
        {texts.csv}
      </DownloadButton>
    </Group>
  )
}

const GROUPS = ['pipeline', 'run', 'quarantine', 'notification', 'token', 'session'] as const

/** `pipeline.` matches every action that starts with it. */
function useActions() {
  const { groups, every, actions } = useTexts(auditTexts)
  const all: Readonly<Record<string, string>> = every
  return GROUPS.map((group) => ({
    group: groups[group],
    items: [
      ...(all[group] === undefined ? [] : [{ value: `${group}.`, label: all[group] }]),
      ...Object.entries(actions)
        .filter(([action]) => action.startsWith(`${group}.`))
        .map(([value, label]) => ({ value, label })),
    ],
  }))
}
