import { Link } from '@tanstack/react-router'
import type { Overview, PipelineLine, Runner } from '../../api/wire.js'
import { activityOf } from '../../facts/activity.js'
import { lateOf } from '../../facts/data-state.js'
import { progressOf } from '../../facts/progress.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import styles from './overview.module.css'
import { overviewTexts } from './texts.js'

interface Props {
  readonly overview: Overview
  /** Null: unknown yet. */
  readonly runners: readonly Runner[] | null
}

/** Each number links to the counted items. */
export function Tiles({ overview: { summary, items: lines }, runners }: Props) {
  const { tiles: texts } = useTexts(overviewTexts)
  const format = useFormat()
  const now = useNow()
  const heartbeat = newestHeartbeat(runners)
  const rate = rowsPerSecond(lines, now)
  const wait = longestWait(lines, now)
  const { late, promised } = lateOf(lines, now)
  const held = lines.filter(({ quarantined }) => quarantined > 0)
  const rows = held.reduce((sum, { quarantined }) => sum + quarantined, 0)
  return (
    <section className={styles.tiles} aria-label={texts.label}>
      <Tile
        label={texts.runners}
        value={texts.of(summary.runners_alive, summary.runners_known)}
        note={heartbeat === null ? texts.noHeartbeat : texts.heartbeat(format.duration(heartbeat))}
        tone={
          summary.runners_alive === 0 ? 'bad' : summary.runners_alive < summary.runners_known ? 'warn' : 'ok'
        }
        to="/runners"
      />
      <Tile
        label={texts.running}
        value={format.number(summary.running)}
        note={summary.running === 0 ? texts.nothing : texts.rate(format.compact(rate))}
        tone={summary.running > 0 ? 'run' : null}
        to="/pipelines"
        search={{ status: 'running' }}
      />
      <Tile
        label={texts.waiting}
        value={format.number(summary.queued)}
        note={wait === null ? texts.nothing : texts.longest(format.duration(wait))}
        tone={summary.queued > 0 ? (summary.runners_alive === 0 ? 'bad' : 'run') : null}
        to="/pipelines"
        search={{ status: 'queued' }}
      />
      <Tile
        label={texts.failing}
        value={format.number(summary.failed)}
        note={texts.pipelines(summary.pipelines)}
        tone={summary.failed > 0 ? 'bad' : null}
        to="/pipelines"
        search={{ status: 'failed' }}
      />
      <Tile
        label={texts.late}
        value={format.number(late)}
        note={texts.marts(promised)}
        tone={late > 0 ? 'warn' : null}
        to="/quality"
        search={{ show: 'late' }}
      />
      <Tile
        label={texts.quarantine}
        value={format.number(rows)}
        note={rows === 0 ? texts.noRows : texts.rowsOf(held.length)}
        tone={rows > 0 ? 'warn' : null}
        to="/quarantine"
      />
    </section>
  )
}

interface TileProps {
  readonly label: string
  readonly value: string
  readonly note: string
  /** Null: no link. */
  readonly tone: 'ok' | 'run' | 'bad' | 'warn' | null
  readonly to: '/runners' | '/pipelines' | '/quality' | '/quarantine'
  readonly search?: Readonly<Record<string, string>>
}

function Tile({ label, value, note, tone, to, search = {} }: TileProps) {
  return (
    <div className={styles.tile} data-tone={tone ?? undefined}>
      <Link to={to} search={search as never} className={styles.tileLink}>
        <span className={styles.tileLabel}>{label}</span>
        <strong className={styles.tileValue}>{value}</strong>
        <span className={styles.tileNote}>{note}</span>
      </Link>
    </div>
  )
}

function newestHeartbeat(runners: readonly Runner[] | null): number | null {
  const ages = (runners ?? []).filter((each) => each.stopped_at === null).map((each) => each.heartbeat_age_ms)
  return ages.length === 0 ? null : Math.min(...ages)
}

function rowsPerSecond(lines: readonly PipelineLine[], now: number): number {
  return lines.reduce((sum, line) => {
    const run = line.current_run
    return run === null || run.rows_read === 0 ? sum : sum + (progressOf(line, run, now).rowsPerSecond ?? 0)
  }, 0)
}

function longestWait(lines: readonly PipelineLine[], now: number): number | null {
  const waits = lines
    .filter((line) => activityOf(line) === 'queued')
    .flatMap(({ current_run: run }) => (run === null ? [] : [now - Date.parse(run.requested_at)]))
  return waits.length === 0 ? null : Math.max(0, ...waits)
}
