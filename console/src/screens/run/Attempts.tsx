import { Flex } from '@mantine/core'
import type { RunDetail } from '../../api/wire.js'
import { Badge } from '../../components/status/Badge.js'
import { TimeText } from '../../components/text/TimeText.js'
import { isReleased } from '../../facts/holder.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './run.module.css'
import { runTexts } from './texts.js'
import { useRunSearch } from './use-run-search.js'

type Past = RunDetail['attempt_history'][number]

/** Earlier attempts with their errors. */
export function Attempts({ run }: { readonly run: RunDetail }) {
  const { attempts: texts } = useTexts(runTexts)
  if (run.attempt_history.length === 0) return null
  return (
    <Flex component="section" className={styles.attempts} direction="column" gap={8} aria-label={texts.title}>
      <h2>{texts.title}</h2>
      <ol>
        {run.attempt_history.map((past) => (
          <Attempt key={past.attempt} past={past} />
        ))}
        {isReleased(run) ? null : <Newest run={run} />}
      </ol>
    </Flex>
  )
}

function Newest({ run }: { readonly run: RunDetail }) {
  const { attempts: texts } = useTexts(runTexts)
  return (
    <li>
      <Flex component="span" rowGap={4} columnGap={10} align="center" wrap="wrap">
        <strong>{texts.name(run.attempt)}</strong>
        <span className="v-soft">
          {run.finished_at === null ? texts.now : texts.last} {run.runner_id}
        </span>
        <ToLog attempt={run.attempt} />
      </Flex>
    </li>
  )
}

const TONES = { failed: 'warn', runner_died: 'warn', given_back: 'rest', connection_lost: 'warn' } as const

function Attempt({ past }: { readonly past: Past }) {
  const { attempts: texts } = useTexts(runTexts)
  return (
    <li>
      <Flex component="span" rowGap={4} columnGap={10} align="center" wrap="wrap">
        <strong>{texts.name(past.attempt)}</strong>
        <Badge tone={TONES[past.end]} icon={past.end === 'given_back' ? 'dash' : 'warn'}>
          {texts.ends[past.end]}
        </Badge>
        {past.error_code === null ? null : <code className="v-mono">{past.error_code}</code>}
        <span className="v-soft">
          <TimeText at={past.ended_at} /> {past.runner_id}
        </span>
        <ToLog attempt={past.attempt} />
      </Flex>
      {past.error === null ? null : <p>{past.error}</p>}
      {past.error_hint === null ? null : <p className="v-soft">{past.error_hint}</p>}
    </li>
  )
}

function ToLog({ attempt }: { readonly attempt: number }) {
  const { attempts: texts } = useTexts(runTexts)
  const [, change] = useRunSearch()
  const show = async () => {
    await change({ attempt, log: undefined, q: undefined })
    document.getElementById('run-log')?.scrollIntoView({ block: 'start' })
  }
  return (
    <button type="button" className={styles.textButton} onClick={() => void show()}>
      {texts.toLog(attempt)}
    </button>
  )
}
