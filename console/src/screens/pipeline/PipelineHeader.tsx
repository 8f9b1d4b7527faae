import { Flex } from '@mantine/core'
import type { Pipeline, PipelineLine } from '../../api/wire.js'
import { DataStateBadge } from '../../components/status/DataStateBadge.js'
import { LastResultBadge } from '../../components/status/LastResultBadge.js'
import { StatusActivity } from '../../components/status/StatusActivity.js'
import { Tip } from '../../components/text/Tip.js'
import { shared } from '../../components/texts.js'
import { ATTEMPTS, activityOf, isActive, lastResultOf } from '../../facts/activity.js'
import { dataFactsOf } from '../../facts/data-state.js'
import { progressOf } from '../../facts/progress.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import { HeaderActions } from './HeaderActions.js'
import { HeaderMenu } from './HeaderMenu.js'
import styles from './pipeline.module.css'
import { pipelineTexts } from './texts.js'

interface Props {
  readonly pipeline: Pipeline
  readonly line: PipelineLine | null
}

export function PipelineHeader({ pipeline, line }: Props) {
  const texts = useTexts(pipelineTexts)
  const { name, target_table, target_connection, config_version, managed_by } = pipeline
  const target = target_connection === null ? target_table : `${target_connection}: ${target_table}`
  return (
    <header className={styles.header}>
      <div className={styles.title}>
        <h1>{name}</h1>
        <Flex
          component="span"
          className={styles.under}
          rowGap={2}
          columnGap={12}
          align="baseline"
          wrap="wrap"
        >
          <span className="v-mono">{target}</span>
          <span>{texts.version(config_version)}</span>
          {managed_by === 'file' ? (
            <Tip label={texts.fromFileWhy}>
              <span>{texts.fromFile}</span>
            </Tip>
          ) : null}
        </Flex>
      </div>
      <div className={styles.actions}>{line === null ? null : <HeaderActions line={line} />}</div>
      <div className={styles.menu}>
        <HeaderMenu pipeline={pipeline} />
      </div>
      {line === null ? null : <Facts line={line} />}
    </header>
  )
}

/** Activity, last result and state of the data are shown separately: a successful run may leave stale data. */
function Facts({ line }: { readonly line: PipelineLine }) {
  const texts = useTexts(pipelineTexts)
  const words = useTexts(shared)
  const format = useFormat()
  const now = useNow()
  const { last_run: last } = line
  const ended = last === null ? null : now - Date.parse(last.finished_at)
  return (
    <dl className={styles.facts}>
      <div>
        <dt>{texts.now}</dt>
        <dd>
          <StatusActivity activity={activityOf(line)} more={<Present line={line} />} />
        </dd>
      </div>
      <div>
        <dt>{texts.last}</dt>
        <dd>
          <LastResultBadge
            result={lastResultOf(last)}
            more={ended === null ? null : words.ago(format.duration(ended))}
          />
        </dd>
      </div>
      <div>
        <dt>{texts.data}</dt>
        <dd>
          <DataStateBadge facts={dataFactsOf(line, now)} />
        </dd>
      </div>
    </dl>
  )
}

function Present({ line }: { readonly line: PipelineLine }) {
  const texts = useTexts(pipelineTexts)
  const words = useTexts(shared)
  const format = useFormat()
  const now = useNow()
  const activity = activityOf(line)
  const { current_run: run } = line
  if (run === null || !isActive(activity)) return null
  if (activity === 'retrying') return texts.attempt(run.attempt, ATTEMPTS)
  const { share } = progressOf(line, run, now)
  const since = format.duration(Math.max(0, now - Date.parse(run.started_at ?? run.requested_at)))
  const rows = run.rows_read === 0 ? null : words.rows(run.rows_read)
  return [share === null ? since : `~${format.percent(share)}`, rows]
    .filter((each) => each !== null)
    .join(' · ')
}
