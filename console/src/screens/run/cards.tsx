import { Button, CopyButton, Flex } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { RunDetail } from '../../api/wire.js'
import { TimeText } from '../../components/text/TimeText.js'
import { shared } from '../../components/texts.js'
import { wroteNothingUnlikeUsual } from '../../facts/run-result.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { RunAgain } from './RunAgain.js'
import styles from './run.module.css'
import { runTexts } from './texts.js'
import { useRunSearch } from './use-run-search.js'

interface Props {
  readonly run: RunDetail
}

/** The error at the top of the page: code, message, hint and committed batches. */
export function RunErrorCard({ run }: Props) {
  const { error: texts } = useTexts(runTexts)
  if (run.error_code === null && run.error === null) return null
  // An earlier attempt failed and another is in progress or succeeded: a warning, not an error.
  const isFailed = run.status === 'FAILED'
  return (
    <section className={styles.error} data-failed={isFailed} role={isFailed ? 'alert' : 'status'}>
      <div className={styles.errorHead}>
        <Icon name="warn" />
        <strong>
          {isFailed
            ? `${texts.title} ${texts.attempts(Math.max(1, run.attempt))}`
            : texts.earlier(run.attempt)}
        </strong>
        <code className="v-mono">{run.error_code}</code>
      </div>
      {run.error === null ? null : <p>{run.error}</p>}
      {run.error_hint === null ? null : <p className="v-soft">{run.error_hint}</p>}
      <p className="v-soft">{run.batches === 0 ? texts.none : texts.kept(run.batches)}</p>
      <ErrorButtons run={run} />
    </section>
  )
}

function ErrorButtons({ run }: Props) {
  const texts = useTexts(runTexts)
  const words = useTexts(shared)
  const [, change] = useRunSearch()
  const { id, error_code, error, error_hint } = run
  const facts = JSON.stringify({ run: id, code: error_code, error, hint: error_hint }, null, 2)
  const showLog = async () => {
    await change({ log: 'errors' })
    document.getElementById('run-log')?.scrollIntoView({ block: 'start' })
  }
  return (
    <Flex gap={8} wrap="wrap">
      {run.status === 'FAILED' ? <Remedies run={run} /> : null}
      <Button variant="default" leftSection={<Icon name="search" size={14} />} onClick={() => void showLog()}>
        {texts.error.toLog}
      </Button>
      <CopyButton value={facts}>
        {({ copied, copy }) => (
          <Button variant="default" leftSection={<Icon name="copy" size={14} />} onClick={copy}>
            {copied ? words.copied : words.copy}
          </Button>
        )}
      </CopyButton>
    </Flex>
  )
}

/** The next steps: retry, or fix the query. */
function Remedies({ run }: Props) {
  const { error: texts } = useTexts(runTexts)
  return (
    <>
      <RunAgain run={run}>
        {run.strategy?.endsWith('incremental') ? texts.retryFromCheckpoint : texts.retry}
      </RunAgain>
      <Button
        component={Link}
        to="/pipelines/$id/sql"
        params={{ id: run.pipeline_id } as never}
        variant="default"
      >
        {texts.editQuery}
      </Button>
    </>
  )
}

/** A successful run that wrote nothing. */
export function WroteNothingCard({ run }: Props) {
  const { nothing: texts } = useTexts(runTexts)
  const format = useFormat()
  if (!wroteNothingUnlikeUsual(run)) return null
  return (
    <section className={styles.held} role="status">
      <div className={styles.heldHead}>
        <Icon name="warn" />
        <strong>{texts.title}</strong>
      </div>
      <p>{texts.usual(format.number(run.usual_rows_written ?? 0))}</p>
      <p className="v-soft">{texts.hint}</p>
    </section>
  )
}

export function HeldBackCard({ run: { held_back: held } }: Props) {
  const { held: texts } = useTexts(runTexts)
  if (held === null) return null
  return (
    <section className={styles.held} role="status">
      <div className={styles.heldHead}>
        <Icon name="clock" />
        <strong>{texts.title}</strong>
        <code className="v-mono">{held.reason}</code>
      </div>
      <p>
        {held.pid === null ? null : texts.session(held.pid)}{' '}
        {held.since === null ? null : (
          <>
            {texts.since} <TimeText at={held.since} as="moment" />
          </>
        )}
      </p>
      <p className="v-soft">{texts.hint}</p>
    </section>
  )
}
