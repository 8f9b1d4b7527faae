import { Link } from '@tanstack/react-router'
import type { Runner } from '../../api/wire.js'
import records from '../../components/layout/records.module.css'
import { Badge, type Tone } from '../../components/status/Badge.js'
import { TimeText } from '../../components/text/TimeText.js'
import { shared } from '../../components/texts.js'
import { type RunnerState, runnerStateOf } from '../../facts/runners.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import type { IconName } from '../../theme/icons.js'
import { useNow } from '../../time/clock.js'
import styles from './runners.module.css'
import { runnersTexts } from './texts.js'

interface CellProps {
  readonly runner: Runner
}

const BADGES: Readonly<Record<RunnerState, { tone: Tone; icon: IconName }>> = {
  alive: { tone: 'ok', icon: 'check' },
  silent: { tone: 'bad', icon: 'warn' },
  ended: { tone: 'rest', icon: 'stop' },
}

export function NameCell({ runner }: CellProps) {
  const texts = useTexts(runnersTexts)
  return (
    <div className={records.two}>
      <span className={records.name}>{runner.host}</span>
      <span className={records.soft}>
        {texts.process(runner.pid)} · <span className="v-mono">{runner.id}</span>
      </span>
    </div>
  )
}

/** The age when the list was loaded plus the time since, by the clock of the database. */
export function StateCell({ runner }: CellProps) {
  const texts = useTexts(runnersTexts)
  const words = useTexts(shared)
  const format = useFormat()
  const now = useNow()
  const silentMs = Math.max(runner.heartbeat_age_ms, now - Date.parse(runner.heartbeat_at))
  // Until the next request a heartbeat may have arrived: an alive runner keeps its reported age.
  const state = runnerStateOf(runner, runner.heartbeat_age_ms)
  const age = state === 'alive' ? runner.heartbeat_age_ms : silentMs
  return (
    <Badge {...BADGES[state]} more={state === 'ended' ? null : words.ago(format.duration(age))}>
      {texts[state]}
    </Badge>
  )
}

export function SlotsCell({ runner }: CellProps) {
  const texts = useTexts(runnersTexts)
  const busy = runner.holds.length
  return (
    <div className={styles.slots}>
      <meter
        className={styles.meter}
        min={0}
        max={Math.max(1, runner.concurrency)}
        value={busy}
        aria-label={texts.slots(busy, runner.concurrency)}
      />
      <span className="v-number">{texts.slotsFew(busy, runner.concurrency)}</span>
    </div>
  )
}

export function HoldsCell({ runner }: CellProps) {
  const texts = useTexts(runnersTexts)
  if (runner.holds.length === 0) return <span className="v-soft">{texts.nothing}</span>
  return (
    <ul className={styles.holds}>
      {runner.holds.map(({ run_id, name }) => (
        <li key={run_id}>
          <Link to="/runs/$id" params={{ id: run_id }} className="v-link" aria-label={texts.run(name)}>
            {name}
          </Link>
        </li>
      ))}
    </ul>
  )
}

export function RunnerCard({ runner }: CellProps) {
  const texts = useTexts(runnersTexts)
  return (
    <article className={styles.card}>
      <div className={records.cardTop}>
        <NameCell runner={runner} />
        <StateCell runner={runner} />
      </div>
      <div className={records.cardTop}>
        <SlotsCell runner={runner} />
        <span className="v-soft">
          {runner.version} · {texts.columns.started} <TimeText at={runner.started_at} as="relative" />
        </span>
      </div>
      <div className={styles.cardHolds}>
        <span className="v-soft">{texts.columns.holds}:</span> <HoldsCell runner={runner} />
      </div>
    </article>
  )
}
