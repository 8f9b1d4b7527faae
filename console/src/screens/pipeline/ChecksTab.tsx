import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { checksQuery, runChecks } from '../../api/checks.js'
import { queryClient } from '../../api/query-client.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { toastDone, toastProblem } from '../../components/actions/toast.js'
import { CheckTable } from '../../components/data-checks/CheckTable.js'
import { dataCheckTexts } from '../../components/data-checks/texts.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { useTexts } from '../../i18n/texts.js'
import { usePipeline } from './pipeline-context.js'

/** The data checks of a pipeline. */
export function ChecksTab() {
  const texts = useTexts(dataCheckTexts)
  const { pipeline } = usePipeline()
  const query = checksQuery(pipeline.id)
  const { data, error, refetch } = useQuery(query)
  if (data === undefined)
    return error === null ? (
      <Skeleton lines={6} height={32} />
    ) : (
      <ProblemCard error={error} onRetry={() => void refetch()} />
    )
  if (data.items.length === 0) return <NoChecks id={pipeline.id} />
  return (
    <Panel
      title={texts.title}
      isFlush
      actions={
        <RunButton id={pipeline.id} onRun={(items) => queryClient.setQueryData(query.queryKey, { items })} />
      }
    >
      {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
      <CheckTable checks={data.items} />
    </Panel>
  )
}

interface RunButtonProps {
  readonly id: string
  readonly onRun: (items: Awaited<ReturnType<typeof runChecks>>['items']) => void
}

function RunButton({ id, onRun }: RunButtonProps) {
  const texts = useTexts(dataCheckTexts)
  const [isRunning, setRunning] = useState(false)
  const run = () => {
    setRunning(true)
    runChecks(id)
      .then(({ items }) => {
        onRun(items)
        toastDone(texts.ran(items.filter(({ status }) => status !== 'passed').length))
      })
      .catch((error: unknown) => toastProblem(texts.notRun, error))
      .finally(() => setRunning(false))
  }
  return (
    <ActionButton needs="operator" icon="check" size="compact-sm" loading={isRunning} onClick={run}>
      {texts.run}
    </ActionButton>
  )
}

function NoChecks({ id }: { readonly id: string }) {
  const { empty } = useTexts(dataCheckTexts)
  return (
    <EmptyState
      icon="checks"
      title={empty.title}
      actions={
        <Button component={Link} to={`/pipelines/${id}/config`}>
          {empty.action}
        </Button>
      }
    >
      {empty.text}
    </EmptyState>
  )
}
