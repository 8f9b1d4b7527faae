import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { memo, useState } from 'react'
import type { Batch, RunDetail } from '../../api/wire.js'
import { DownloadButton } from '../../components/actions/DownloadButton.js'
import { Panel } from '../../components/layout/Panel.js'
import { Scrollable } from '../../components/layout/Scrollable.js'
import { activityOfRun } from '../../components/status/RunStatusBadge.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { BatchDetail } from './BatchDetail.js'
import styles from './run.module.css'
import { Legend, spanOf, TimelineBar, type TimelineSpan } from './Timeline.js'
import { runTexts } from './texts.js'
import { useRunSearch } from './use-run-search.js'

/** Every new batch renders the others again, which is fast for two hundred. */
const FIRST = 200

export function BatchesPanel({ run }: { readonly run: RunDetail }) {
  const { batches: texts } = useTexts(runTexts)
  const [search, change] = useRunSearch()
  const all = run.batch_history
  const chosen = all.find(({ batch }) => batch === search.batch) ?? null
  return (
    <Panel title={texts.title} isFlush actions={<AllOfThem run={run} />}>
      {search.batch === undefined ? null : (
        <BatchDetail batch={chosen} number={search.batch} onClose={() => void change({ batch: undefined })} />
      )}
      {all.length === 0 ? (
        <p className={styles.nothing}>{activityOfRun(run) === null ? texts.notKept : texts.none}</p>
      ) : (
        <BatchTable run={run} chosen={chosen?.batch ?? null} />
      )}
    </Panel>
  )
}

/** The API returns the last thousand batches. */
function AllOfThem({ run }: { readonly run: RunDetail }) {
  const { batches: texts } = useTexts(runTexts)
  const shown = run.batch_history.length
  if (shown === 0 || run.batches <= shown) return null
  return (
    <span className="v-soft">
      {texts.last(shown, run.batches)}{' '}
      <DownloadButton
        from={`/api/v1/runs/${run.id}/batches?limit=1000`}
        as={`run-${run.id}-batches.json`}
        variant="subtle"
        size="compact-sm"
      >
        {texts.all}
      </DownloadButton>
    </span>
  )
}

function BatchTable({ run, chosen }: { readonly run: RunDetail; readonly chosen: number | null }) {
  const { batches: texts } = useTexts(runTexts)
  const [shown, show] = useState(FIRST)
  const rows = run.batch_history.slice(0, shown)
  const span = spanOf(rows)
  return (
    <Scrollable className={styles.scroller} label={texts.title}>
      <table className={styles.batches}>
        <thead>
          <tr>
            <th scope="col">{texts.batch}</th>
            <th scope="col">{texts.step}</th>
            <th scope="col" className={styles.end}>
              {texts.read}
            </th>
            <th scope="col" className={styles.end}>
              {texts.written}
            </th>
            <th scope="col" className={styles.end}>
              {texts.took}
            </th>
            <th scope="col" className={styles.wide}>
              {texts.when}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((batch) => (
            <BatchRow
              key={batch.batch}
              batch={batch}
              runId={run.id}
              from={span.from}
              ms={span.ms}
              isChosen={batch.batch === chosen}
            />
          ))}
        </tbody>
      </table>
      <Legend batches={rows} />
      {run.batch_history.length > shown ? (
        <Button variant="subtle" m={8} onClick={() => show(shown + FIRST)}>
          {texts.more}
        </Button>
      ) : null}
    </Scrollable>
  )
}

interface RowProps extends TimelineSpan {
  readonly batch: Batch
  readonly runId: string
  readonly isChosen: boolean
}

const BatchRow = memo(function BatchRow({ batch, runId, isChosen, from, ms }: RowProps) {
  const { batches: texts } = useTexts(runTexts)
  const format = useFormat()
  return (
    <tr data-chosen={isChosen || undefined}>
      <th scope="row">
        <Link
          to="/runs/$id"
          params={{ id: runId }}
          search={(before) => ({ ...before, batch: batch.batch }) as never}
          replace
          resetScroll={false}
          className="v-link"
          aria-label={texts.name(batch.batch)}
          aria-current={isChosen || undefined}
        >
          {batch.batch}
        </Link>
      </th>
      <td className="v-mono">{batch.step}</td>
      <td className={styles.end}>{format.number(batch.rows_read)}</td>
      <td className={styles.end}>{format.number(batch.rows_inserted + batch.rows_updated)}</td>
      <td className={styles.end}>{format.duration(batch.duration_ms)}</td>
      <td className={styles.wide}>
        <TimelineBar batch={batch} from={from} ms={ms} />
      </td>
    </tr>
  )
})
