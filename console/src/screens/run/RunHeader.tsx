import { Button, CopyButton, Flex } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { RunDetail } from '../../api/wire.js'
import { DownloadButton } from '../../components/actions/DownloadButton.js'
import { activityOfRun, RunStatusBadge } from '../../components/status/RunStatusBadge.js'
import { TimeText } from '../../components/text/TimeText.js'
import { shared } from '../../components/texts.js'
import { progressTo, shareOf } from '../../facts/progress.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { useNow } from '../../time/clock.js'
import { CancelButtons } from './CancelButtons.js'
import { Neighbours } from './Neighbours.js'
import { RunAgain } from './RunAgain.js'
import styles from './run.module.css'
import { runTexts } from './texts.js'
import { Waiting } from './Waiting.js'

interface Props {
  readonly run: RunDetail
}

export function RunHeader({ run }: Props) {
  const texts = useTexts(runTexts)
  return (
    <Flex component="header" className={styles.header} direction="column" gap={8}>
      <Flex className={styles.headline} rowGap={8} columnGap={12} align="center" wrap="wrap">
        <h1>
          <Link to="/pipelines/$id/overview" params={{ id: run.pipeline_id }} className="v-link">
            {run.pipeline_name}
          </Link>{' '}
          <span className="v-soft">{texts.run(run.id.slice(0, 8))}</span>
        </h1>
        <Status run={run} />
        <Neighbours run={run} />
        <span className={styles.space} />
        <Buttons run={run} />
      </Flex>
      <Waiting run={run} />
      <Facts run={run} />
    </Flex>
  )
}

function Status({ run }: Props) {
  const format = useFormat()
  const share = activityOfRun(run) === 'running' ? shareOf(run.expected_rows_read, run.rows_read) : null
  return <RunStatusBadge run={run} more={share === null ? undefined : `~${format.percent(share)}`} />
}

function Buttons({ run }: Props) {
  const texts = useTexts(runTexts)
  const words = useTexts(shared)
  return (
    <Flex gap={8} wrap="wrap">
      {activityOfRun(run) === null ? (
        <RunAgain run={run}>{texts.again}</RunAgain>
      ) : (
        <CancelButtons run={run} />
      )}
      <CopyButton value={`${window.location.origin}/ui/runs/${run.id}`}>
        {({ copied, copy }) => (
          <Button variant="default" leftSection={<Icon name="copy" size={14} />} onClick={copy}>
            {copied ? words.copied : texts.copyLink}
          </Button>
        )}
      </CopyButton>
      <DownloadButton from={`/api/v1/runs/${run.id}`} as={`run-${run.id}.json`}>
        {texts.json}
      </DownloadButton>
    </Flex>
  )
}

function Facts({ run }: Props) {
  const { facts, version } = useTexts(runTexts)
  return (
    <Flex component="dl" className={styles.facts} rowGap={8} columnGap={24} wrap="wrap">
      <Fact name={facts.attempt}>{Math.max(1, run.attempt)}</Fact>
      <Fact name={facts.trigger}>{run.trigger}</Fact>
      <Fact name={facts.strategy}>{run.strategy}</Fact>
      <Fact name={facts.way}>{run.way}</Fact>
      <Fact name={facts.guarantee}>{run.guarantee}</Fact>
      <Fact name={facts.version}>
        <Link to="/pipelines/$id/versions" params={{ id: run.pipeline_id } as never} className="v-link">
          {version(run.config_version)}
        </Link>
      </Fact>
      <Times run={run} />
      <Fact name={facts.runner}>
        {run.runner_id === null ? null : (
          <Link to="/runners" className="v-link v-mono">
            {run.runner_id}
          </Link>
        )}
      </Fact>
      <Fact name={facts.reference}>{run.external_ref}</Fact>
      <Fact name={facts.trace}>{traceOf(run)}</Fact>
    </Flex>
  )
}

/** With tracing enabled, a run has its own trace. */
function traceOf(run: RunDetail): ReactNode {
  if (!('trace_id' in run) || typeof run.trace_id !== 'string' || run.trace_id === '') return null
  return <code className="v-mono">{run.trace_id}</code>
}

function Times({ run }: Props) {
  const { facts } = useTexts(runTexts)
  const format = useFormat()
  const now = useNow()
  const isActive = activityOfRun(run) !== null
  const started = run.started_at === null ? null : Date.parse(run.started_at)
  const took = isActive && started !== null ? Math.max(0, now - started) : run.duration_ms
  const { etaMs } = isActive ? progressTo(run.expected_rows_read, run, now) : { etaMs: null }
  return (
    <>
      <Fact name={facts.requested}>
        <TimeText at={run.requested_at} as="moment" />
      </Fact>
      <Fact name={facts.started}>{run.started_at === null ? null : <TimeText at={run.started_at} />}</Fact>
      <Fact name={facts.finished}>{run.finished_at === null ? null : <TimeText at={run.finished_at} />}</Fact>
      <Fact name={isActive ? facts.elapsed : facts.took}>{took === null ? null : format.duration(took)}</Fact>
      <Fact name={facts.left}>{etaMs === null ? null : `~${format.duration(etaMs)}`}</Fact>
      <Fact name={facts.cost}>
        {run.cost === null
          ? null
          : facts.spent(
              format.number(run.cost.blocks_read),
              format.number(Math.ceil(run.cost.wal_bytes / 1024)),
            )}
      </Fact>
    </>
  )
}

/** Unknown values are omitted. */
function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  if (children === null) return null
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
