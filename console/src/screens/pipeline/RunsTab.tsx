import { Button, Group, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { pipelineRunsQuery } from '../../api/pipeline.js'
import type { PipelineRun } from '../../api/wire.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import type { Column } from '../../components/table/column.js'
import { DataTable } from '../../components/table/DataTable.js'
import { NumberText } from '../../components/text/NumberText.js'
import { TimeText } from '../../components/text/TimeText.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { usePipeline } from './pipeline-context.js'
import { RunOutcome } from './RunOutcome.js'
import { pipelineTexts } from './texts.js'

const PAGE = 50
/** The maximum page size of the API. */
const MOST = 200
const keyOf = ({ id }: PipelineRun) => id
const nameOf = ({ requested_at }: PipelineRun) => requested_at
const card = (run: PipelineRun) => <RunCard run={run} />

export function RunsTab() {
  const texts = useTexts(pipelineTexts)
  const navigate = useNavigate()
  const { pipeline } = usePipeline()
  const [limit, setLimit] = useState(PAGE)
  const { data, error, refetch, isPlaceholderData } = useQuery(pipelineRunsQuery(pipeline.id, limit))
  const columns = useColumns()
  if (data === undefined)
    return error === null ? (
      <Skeleton lines={8} />
    ) : (
      <ProblemCard error={error} onRetry={() => void refetch()} />
    )
  if (data.items.length === 0)
    return (
      <EmptyState icon="runs" title={texts.noRunsTitle}>
        {texts.noRunsText}
      </EmptyState>
    )
  return (
    <>
      {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
      <DataTable
        label={texts.runsTitle}
        rows={data.items}
        columns={columns}
        keyOf={keyOf}
        nameOf={nameOf}
        card={card}
        rowHeight={44}
        isDimmed={isPlaceholderData}
        onOpen={({ id }) => void navigate({ to: '/runs/$id', params: { id } })}
      />
      <Group gap={8}>
        <span className="v-soft" role="status">
          {texts.shownRuns(data.items.length)}
        </span>
        {data.next_cursor === null || limit >= MOST ? null : (
          <Button variant="default" onClick={() => setLimit(MOST)}>
            {texts.more}
          </Button>
        )}
      </Group>
    </>
  )
}

function useColumns(): readonly Column<PipelineRun>[] {
  const { runCols: names } = useTexts(pipelineTexts)
  return useMemo(() => {
    const count = (id: 'read' | 'written' | 'deleted' | 'quarantined'): Column<PipelineRun> => ({
      id,
      header: names[id],
      width: 'minmax(76px, 0.6fr)',
      align: 'end',
      cell: (run) => <NumberText value={run[`rows_${id}`]} isCompact />,
    })
    return [
      {
        id: 'started',
        header: names.started,
        width: 'minmax(222px, 1.1fr)',
        cell: ({ id, requested_at }) => (
          <Link to="/runs/$id" params={{ id }}>
            <TimeText at={requested_at} as="moment" />
          </Link>
        ),
      },
      {
        id: 'status',
        header: names.status,
        width: 'minmax(140px, 1.4fr)',
        cell: (run) => <RunOutcome run={run} />,
      },
      {
        id: 'took',
        header: names.took,
        width: '90px',
        align: 'end',
        cell: (run) => <Took run={run} />,
      },
      count('read'),
      count('written'),
      count('deleted'),
      count('quarantined'),
      { id: 'trigger', header: names.trigger, width: '100px', cell: ({ trigger }) => trigger },
      {
        id: 'version',
        header: names.version,
        width: '76px',
        align: 'end',
        cell: ({ config_version }) => <NumberText value={config_version} />,
      },
    ]
  }, [names])
}

function Took({ run }: { readonly run: PipelineRun }) {
  const format = useFormat()
  return <span className="v-number">{run.duration_ms === null ? '–' : format.duration(run.duration_ms)}</span>
}

function RunCard({ run }: { readonly run: PipelineRun }) {
  const { runCols: names } = useTexts(pipelineTexts)
  return (
    <Stack gap={4}>
      <Group gap={8}>
        <TimeText at={run.requested_at} as="moment" />
        <RunOutcome run={run} />
      </Group>
      <span className="v-soft">
        <Took run={run} /> · {names.read} <NumberText value={run.rows_read} isCompact /> · {names.written}{' '}
        <NumberText value={run.rows_written} isCompact />
      </span>
    </Stack>
  )
}
