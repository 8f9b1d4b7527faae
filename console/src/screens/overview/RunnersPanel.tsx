import { Flex } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Runner } from '../../api/wire.js'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { Badge } from '../../components/status/Badge.js'
import { START_RUNNER } from '../../components/status/FleetReason.js'
import { shared } from '../../components/texts.js'
import { runnerStateOf } from '../../facts/runners.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './overview.module.css'
import { overviewTexts } from './texts.js'

interface Props {
  /** Null: unknown yet. */
  readonly runners: readonly Runner[] | null
  readonly error: unknown
  readonly onRetry: () => void
}

const MOST = 5

export function RunnersPanel({ runners, error, onRetry }: Props) {
  const texts = useTexts(overviewTexts)
  const known = runners?.filter(({ stopped_at }) => stopped_at === null) ?? null
  const link = (
    <Link to="/runners" className="v-link">
      {texts.allRunners}
    </Link>
  )
  return (
    <Panel title={texts.runners} actions={link} isFlush={(known?.length ?? 0) > 0}>
      {error === null ? null : <ProblemCard error={error} onRetry={onRetry} />}
      {known === null ? (
        error === null ? (
          <Skeleton lines={2} />
        ) : null
      ) : known.length === 0 ? (
        <p className={styles.none}>
          {texts.noRunners} <code className="v-mono">{START_RUNNER}</code>
        </p>
      ) : (
        <ul className={styles.list}>
          {known.slice(0, MOST).map((runner) => (
            <RunnerLine key={runner.id} runner={runner} />
          ))}
        </ul>
      )}
    </Panel>
  )
}

function RunnerLine({ runner }: { readonly runner: Runner }) {
  const texts = useTexts(overviewTexts)
  const words = useTexts(shared)
  const format = useFormat()
  const isAlive = runnerStateOf(runner, runner.heartbeat_age_ms) === 'alive'
  return (
    <Flex component="li" className={styles.line} rowGap={4} columnGap={12} align="center">
      <span className={styles.name}>{runner.host}</span>
      <span className={styles.soft}>{texts.slots(runner.holds.length, runner.concurrency)}</span>
      <Badge
        tone={isAlive ? 'ok' : 'bad'}
        icon={isAlive ? 'check' : 'warn'}
        more={words.ago(format.duration(runner.heartbeat_age_ms))}
      >
        {isAlive ? texts.alive : texts.silent}
      </Badge>
    </Flex>
  )
}
