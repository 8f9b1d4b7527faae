import type { FleetSummary, PipelineLine } from '../../api/wire.js'
import { Badge } from '../../components/Badge.js'
import { dataFactsOf } from '../../facts/data-state.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import styles from './pipelines.module.css'
import { pipelinesTexts } from './texts.js'

interface Props {
  readonly summary: FleetSummary
  readonly lines: readonly PipelineLine[]
}

/** The fleet in one line: it also answers "why does nothing run". */
export function Summary({ summary, lines }: Props) {
  const texts = useTexts(pipelinesTexts)
  const now = useNow()
  const stale = lines.filter((line) => dataFactsOf(line, now).state === 'stale').length
  return (
    <div className={styles.summary}>
      <Fact n={summary.pipelines} label={texts.all(summary.pipelines)} />
      <Fact n={summary.running} label={texts.running} tone={summary.running > 0 ? 'run' : undefined} />
      <Fact n={summary.queued} label={texts.queued} />
      <Fact
        n={summary.failed}
        label={texts.failing(summary.failed)}
        tone={summary.failed > 0 ? 'bad' : undefined}
      />
      <Fact n={stale} label={texts.stale} tone={stale > 0 ? 'bad' : undefined} />
      <span className={styles.space} />
      {summary.runners_alive === 0 ? (
        <Badge tone="bad" icon="warn">
          {texts.noRunners}
        </Badge>
      ) : (
        <span className="v-soft">{texts.runners(summary.runners_alive, summary.runners_known)}</span>
      )}
    </div>
  )
}

function Fact({
  n,
  label,
  tone,
}: {
  readonly n: number
  readonly label: string
  readonly tone?: 'run' | 'bad' | undefined
}) {
  return (
    <span className={styles.fact} data-tone={tone}>
      <strong>{n}</strong> {label}
    </span>
  )
}
