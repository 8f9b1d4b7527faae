import { useQuery } from '@tanstack/react-query'
import { partsQuery } from '../../api/runs.js'
import type { Part, RunDetail } from '../../api/wire.js'
import { Panel } from '../../components/layout/Panel.js'
import { Scrollable } from '../../components/layout/Scrollable.js'
import { activityOfRun } from '../../components/status/RunStatusBadge.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import styles from './run.module.css'
import { runTexts } from './texts.js'

/** The parts of a run with parallelism, each as a lane: when which runner worked on it. */
export function PartsPanel({ run }: { readonly run: RunDetail }) {
  const { parts: texts } = useTexts(runTexts)
  const isActive = activityOfRun(run) !== null
  const { data } = useQuery({ ...partsQuery(run.id, isActive), enabled: run.parts_total > 0 })
  if (run.parts_total === 0) return null
  const done = data?.items.filter(({ status }) => status === 'DONE').length ?? run.parts_done
  return (
    <Panel
      title={texts.title}
      isFlush
      actions={<span className="v-soft">{texts.done(done, run.parts_total)}</span>}
    >
      {data === undefined ? (
        <div className={styles.reserved} data-skeleton>
          <Lanes parts={emptyParts(run.parts_total)} isActive={false} />
        </div>
      ) : (
        <Lanes parts={data.items} isActive={isActive} />
      )}
    </Panel>
  )
}

/** Their lanes take the space of the real ones while these are loaded. */
function emptyParts(count: number): Part[] {
  const nothing = {
    ...{ status: 'PENDING' as const, attempts: 0, rows: 0, runner_id: null, lease_until: null },
    ...{ after_key: null, last_key: null, started_at: null, finished_at: null },
  }
  return Array.from({ length: count }, (_, n) => ({ part: n + 1, ...nothing }))
}

function Lanes({ parts, isActive }: { readonly parts: readonly Part[]; readonly isActive: boolean }) {
  const { parts: texts } = useTexts(runTexts)
  const now = useNow()
  const starts = parts.flatMap(({ started_at }) => (started_at === null ? [] : [Date.parse(started_at)]))
  const ends = parts.flatMap(({ finished_at }) => (finished_at === null ? [] : [Date.parse(finished_at)]))
  const from = Math.min(...starts)
  const to = Math.max(...ends, ...(isActive ? [now] : []))
  return (
    <Scrollable className={styles.scroller} label={texts.title}>
      <table className={styles.batches}>
        <thead>
          <tr>
            <th scope="col">{texts.part}</th>
            <th scope="col">{texts.status}</th>
            <th scope="col" className={styles.end}>
              {texts.rows}
            </th>
            <th scope="col">{texts.runner}</th>
            <th scope="col" className={styles.wide}>
              {texts.when}
            </th>
          </tr>
        </thead>
        <tbody>
          {parts.map((part) => (
            <Lane key={part.part} part={part} from={from} to={to} />
          ))}
        </tbody>
      </table>
    </Scrollable>
  )
}

function Lane({ part, from, to }: { readonly part: Part; readonly from: number; readonly to: number }) {
  const { parts: texts } = useTexts(runTexts)
  const format = useFormat()
  return (
    <tr title={texts.range(part.after_key?.join(', ') ?? null, part.last_key?.join(', ') ?? null)}>
      <th scope="row">{part.part}</th>
      <td>
        {texts.statuses[part.status]}
        {part.attempts > 1 ? <span className="v-soft"> {texts.attempt(part.attempts)}</span> : null}
      </td>
      <td className={styles.end}>{part.status === 'DONE' ? format.number(part.rows) : null}</td>
      <td className="v-mono">{part.runner_id}</td>
      <td className={styles.wide}>
        <LaneBar part={part} from={from} to={to} />
      </td>
    </tr>
  )
}

/** When they were claimed says nothing about their execution. */
const WITHOUT_TIME: readonly Part['status'][] = ['PENDING', 'LEFT']

function LaneBar({ part, from, to }: { readonly part: Part; readonly from: number; readonly to: number }) {
  const span = Math.max(1, to - from)
  const start =
    part.started_at === null || WITHOUT_TIME.includes(part.status) ? null : Date.parse(part.started_at)
  const end = part.finished_at === null ? to : Date.parse(part.finished_at)
  return (
    <svg className={styles.timeline} viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect className={styles.lane} width={100} height={8} />
      {start === null ? null : (
        <rect
          data-part={part.status}
          x={((start - from) / span) * 100}
          width={Math.max(0.6, ((end - start) / span) * 100)}
          height={8}
        />
      )}
    </svg>
  )
}
