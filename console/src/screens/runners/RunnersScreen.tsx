import { Button } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { overviewQuery } from '../../api/pipelines.js'
import { runnersQuery } from '../../api/runners.js'
import type { Runner } from '../../api/wire.js'
import { usePage } from '../../app/page.js'
import { Page } from '../../app/shell/Page.js'
import { WaitingPage } from '../../app/shell/WaitingPage.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import records from '../../components/layout/records.module.css'
import { FleetReason, START_RUNNER } from '../../components/status/FleetReason.js'
import { TimeText } from '../../components/text/TimeText.js'
import { fleetOf, queuedIn } from '../../facts/runners.js'
import { useTexts } from '../../i18n/texts.js'
import { HoldsCell, NameCell, RunnerCard, SlotsCell, StateCell } from './cells.js'
import { runnersTexts } from './texts.js'

export function RunnersScreen() {
  const texts = useTexts(runnersTexts)
  const { ended } = useSearch({ from: '/runners' })
  const { data, error, refetch } = useQuery(runnersQuery)
  const { data: overview, isPending } = useQuery(overviewQuery())
  usePage({ title: [texts.title], path: [{ label: texts.title }] })
  // The queue is shown above the runners and would move them if it arrived later.
  if (data === undefined || (isPending && error === null))
    return <WaitingPage title={texts.title} error={error} onRetry={refetch} lines={5} height={32} />
  const gone = data.filter(({ stopped_at }) => stopped_at !== null)
  const shown = ended === '1' ? data : data.filter(({ stopped_at }) => stopped_at === null)
  return (
    <Page>
      <h1 className="v-heard-only">{texts.title}</h1>
      {error === null ? null : <ProblemCard error={error} onRetry={refetch} />}
      {overview === undefined ? null : <FleetReason queued={queuedIn(overview)} fleet={fleetOf(data)} />}
      {shown.length > 0 ? <Runners runners={shown} /> : data.length === 0 ? <NoRunners /> : null}
      {gone.length === 0 ? null : (
        <div>
          <Button
            component={Link}
            variant="default"
            to="/runners"
            search={(ended === '1' ? {} : { ended: '1' }) as never}
          >
            {ended === '1' ? texts.hideEnded : texts.showEnded(gone.length)}
          </Button>
        </div>
      )}
    </Page>
  )
}

function Runners({ runners }: { readonly runners: readonly Runner[] }) {
  const { title, columns } = useTexts(runnersTexts)
  const isPhone = useMediaQuery('(max-width: 719px)', undefined, { getInitialValueInEffect: false }) ?? false
  if (isPhone)
    return (
      <section className={records.box} aria-label={title}>
        {runners.map((runner) => (
          <RunnerCard key={runner.id} runner={runner} />
        ))}
      </section>
    )
  return (
    <div className={records.box}>
      <table className={records.table} aria-label={title}>
        <thead>
          <tr>
            {Object.values(columns).map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {runners.map((runner) => (
            <RunnerRow key={runner.id} runner={runner} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function RunnerRow({ runner }: { readonly runner: Runner }) {
  return (
    <tr>
      <td>
        <NameCell runner={runner} />
      </td>
      <td>
        <StateCell runner={runner} />
      </td>
      <td>
        <SlotsCell runner={runner} />
      </td>
      <td>
        <HoldsCell runner={runner} />
      </td>
      <td className="v-mono">{runner.version}</td>
      <td>
        <TimeText at={runner.started_at} as="short" />
      </td>
    </tr>
  )
}

function NoRunners() {
  const { empty } = useTexts(runnersTexts)
  return (
    <EmptyState icon="runners" title={empty.title}>
      {empty.text}
      <br />
      <span className="v-mono">{START_RUNNER}</span>
    </EmptyState>
  )
}
