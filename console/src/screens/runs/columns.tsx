import { useMemo } from 'react'
import type { Run } from '../../api/wire.js'
import { RunStatusBadge } from '../../components/status/RunStatusBadge.js'
import type { Column } from '../../components/table/column.js'
import { NumberText } from '../../components/text/NumberText.js'
import { useTexts } from '../../i18n/texts.js'
import { DurationCell, ErrorCell, PipelineCell, StartedCell } from './cells.js'
import { runsTexts } from './texts.js'

export function useColumns(): readonly Column<Run>[] {
  const { columns: names } = useTexts(runsTexts)
  return useMemo(
    () => [
      {
        id: 'pipeline',
        header: names.pipeline,
        width: 'minmax(150px, 1.5fr)',
        cell: (run) => <PipelineCell run={run} />,
      },
      {
        id: 'status',
        header: names.status,
        width: 'minmax(120px, 1fr)',
        cell: (run) => <RunStatusBadge run={run} />,
      },
      {
        id: 'trigger',
        header: names.trigger,
        width: 'minmax(80px, 0.7fr)',
        cell: ({ trigger }) => <span className="v-soft">{trigger}</span>,
      },
      {
        id: 'started',
        header: names.started,
        width: 'minmax(110px, 1fr)',
        cell: (run) => <StartedCell run={run} />,
      },
      {
        id: 'duration',
        header: names.duration,
        width: '76px',
        align: 'end',
        cell: (run) => <DurationCell run={run} />,
      },
      rows('read', names.read, ({ rows_read }) => rows_read),
      rows('written', names.written, ({ rows_written }) => rows_written),
      rows('deleted', names.deleted, ({ rows_deleted }) => rows_deleted),
      {
        id: 'error',
        header: names.error,
        width: 'minmax(120px, 1.2fr)',
        cell: (run) => <ErrorCell run={run} />,
      },
    ],
    [names],
  )
}

function rows(id: string, header: string, value: (run: Run) => number): Column<Run> {
  return {
    id,
    header,
    width: '80px',
    align: 'end',
    cell: (run) => <NumberText value={value(run)} isCompact />,
  }
}
