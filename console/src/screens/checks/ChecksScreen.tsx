import { Button, Group, Select } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { fleetChecksQuery } from '../../api/checks.js'
import { usePage } from '../../app/page.js'
import { Page } from '../../app/shell/Page.js'
import { WaitingPage } from '../../app/shell/WaitingPage.js'
import { CheckTable } from '../../components/data-checks/CheckTable.js'
import { dataCheckTexts } from '../../components/data-checks/texts.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { useTexts } from '../../i18n/texts.js'
import { CHECK_FILTERS, type ChecksSearch } from './search.js'

/** The data checks of all pipelines. */
export function ChecksScreen() {
  const texts = useTexts(dataCheckTexts)
  const { status } = useSearch({ from: '/checks' })
  const checks = useInfiniteQuery(fleetChecksQuery(status))
  const { data, error } = checks
  usePage({ title: [texts.title], path: [{ label: texts.title }] })
  if (data === undefined)
    return <WaitingPage title={texts.title} error={error} onRetry={checks.refetch} lines={10} height={32} />
  const items = data.pages.flatMap((page) => page.items)
  if (items.length === 0 && status === undefined) return <NoChecks />
  return (
    <Page>
      <h1 className="v-heard-only">{texts.title}</h1>
      <Filter status={status} />
      {error === null ? null : <ProblemCard error={error} onRetry={() => void checks.refetch()} />}
      {items.length === 0 ? (
        <p className="v-soft">{texts.nothing}</p>
      ) : (
        <Panel title={texts.title} isFlush>
          <CheckTable checks={items} withPipeline />
        </Panel>
      )}
      {checks.hasNextPage ? (
        <div>
          <Button
            variant="default"
            loading={checks.isFetchingNextPage}
            onClick={() => void checks.fetchNextPage()}
          >
            {texts.more}
          </Button>
        </div>
      ) : null}
    </Page>
  )
}

function Filter({ status }: ChecksSearch) {
  const texts = useTexts(dataCheckTexts)
  const navigate = useNavigate()
  return (
    <Group gap={8}>
      <Select
        aria-label={texts.filter}
        placeholder={texts.all}
        clearable
        w={220}
        data={CHECK_FILTERS.map((value) => ({ value, label: texts.statuses[value] }))}
        value={status ?? null}
        onChange={(value) =>
          void navigate({
            to: '/checks',
            search: { status: CHECK_FILTERS.find((each) => each === value) },
            replace: true,
          })
        }
      />
    </Group>
  )
}

function NoChecks() {
  const { empty } = useTexts(dataCheckTexts)
  return (
    <EmptyState icon="checks" title={empty.title} link={{ to: '/pipelines', label: empty.action }}>
      {empty.text}
    </EmptyState>
  )
}
