import { Button, CopyButton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { type RunLog, runLogQuery } from '../../api/runs.js'
import { LogView } from '../../components/log/LogView.js'
import { Panel } from '../../components/Panel.js'
import { ProblemCard } from '../../components/ProblemCard.js'
import { Skeleton } from '../../components/Skeleton.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { Icon } from '../../theme/icons.js'
import { downloadText, logText } from './log-text.js'
import styles from './run.module.css'
import { runTexts } from './texts.js'

interface Props {
  readonly runId: string
  readonly isActive: boolean
}

export function LogPanel({ runId, isActive }: Props) {
  const { log: texts } = useTexts(runTexts)
  const { log } = useSearch({ from: '/runs/$id' })
  const isErrorsOnly = log === 'errors'
  const [isWrapped, wrap] = useState(true)
  const [isFollowing, follow] = useState(isActive)
  const { data, error, isFetching, refetch } = useQuery(runLogQuery(runId, isErrorsOnly))
  const isMore = data?.isMore === true
  // Who follows wants the end: page after page, until it is there.
  useEffect(() => {
    if (isFollowing && isMore && !isFetching && error === null) void refetch()
  }, [isFollowing, isMore, isFetching, error, refetch])
  return (
    <div id="run-log">
      <Panel
        title={texts.title}
        isFlush
        actions={
          <Tools
            runId={runId}
            {...{ isErrorsOnly, isWrapped, isFollowing, wrap, follow }}
            pages={data?.pages ?? []}
          />
        }
      >
        {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
        {data === undefined ? (
          error === null && <Skeleton lines={6} />
        ) : (
          <Lines log={data} {...{ isErrorsOnly, isWrapped, isFollowing }} />
        )}
        {isMore ? (
          <Button variant="subtle" m={8} loading={isFetching} onClick={() => void refetch()}>
            {texts.newer}
          </Button>
        ) : null}
      </Panel>
    </div>
  )
}

interface LinesProps {
  readonly log: RunLog
  readonly isErrorsOnly: boolean
  readonly isWrapped: boolean
  readonly isFollowing: boolean
}

function Lines({ log, isErrorsOnly, isWrapped, isFollowing }: LinesProps) {
  const { log: texts } = useTexts(runTexts)
  const words = useTexts(shared)
  const count = log.pages.reduce((sum, page) => sum + page.length, 0)
  if (count === 0) return <p className={styles.nothing}>{isErrorsOnly ? texts.none : words.logEmpty}</p>
  return (
    <>
      <LogView pages={log.pages} isWrapped={isWrapped} isFollowing={isFollowing} />
      <p className={styles.logFoot}>
        {texts.lines(count)}
        {log.isMore ? `, ${texts.more}` : ''}
      </p>
    </>
  )
}

interface ToolsProps {
  readonly runId: string
  readonly pages: RunLog['pages']
  readonly isErrorsOnly: boolean
  readonly isWrapped: boolean
  readonly isFollowing: boolean
  readonly wrap: (on: boolean) => void
  readonly follow: (on: boolean) => void
}

function Tools({ runId, pages, isErrorsOnly, isWrapped, isFollowing, wrap, follow }: ToolsProps) {
  const words = useTexts(shared)
  const navigate = useNavigate()
  const search = useSearch({ from: '/runs/$id' })
  const showErrors = (on: boolean) =>
    void navigate({
      to: '/runs/$id',
      params: { id: runId },
      search: { ...search, log: on ? 'errors' : undefined },
      replace: true,
      resetScroll: false,
    })
  useShortcut('e', words.errorsOnly, () => showErrors(!isErrorsOnly))
  useShortcut('w', words.wrap, () => wrap(!isWrapped))
  useShortcut('f', words.follow, () => follow(!isFollowing))
  return (
    <div className={styles.logTools}>
      <Switch label={words.errorsOnly} isOn={isErrorsOnly} onChange={showErrors} />
      <Switch label={words.wrap} isOn={isWrapped} onChange={wrap} />
      <Switch label={words.follow} isOn={isFollowing} onChange={follow} />
      <TakeAway runId={runId} pages={pages} />
    </div>
  )
}

/** What is loaded, as text. */
function TakeAway({ runId, pages }: Pick<ToolsProps, 'runId' | 'pages'>) {
  const words = useTexts(shared)
  const { log: texts } = useTexts(runTexts)
  const isEmpty = pages.length === 0
  if (isEmpty) return null
  return (
    <>
      <CopyButton value={logText(pages)}>
        {({ copied, copy }) => (
          <Button variant="default" size="compact-sm" aria-label={texts.copy} onClick={copy}>
            {copied ? words.copied : words.copy}
          </Button>
        )}
      </CopyButton>
      <Button
        variant="default"
        size="compact-sm"
        leftSection={<Icon name="download" size={14} />}
        onClick={() => downloadText(`run-${runId}.log`, logText(pages))}
      >
        {words.download}
      </Button>
    </>
  )
}

interface SwitchProps {
  readonly label: string
  readonly isOn: boolean
  readonly onChange: (on: boolean) => void
}

function Switch({ label, isOn, onChange }: SwitchProps) {
  return (
    <Button
      size="compact-sm"
      variant={isOn ? 'light' : 'subtle'}
      color={isOn ? 'blue' : 'gray'}
      aria-pressed={isOn}
      leftSection={isOn ? <Icon name="check" size={12} /> : null}
      onClick={() => onChange(!isOn)}
    >
      {label}
    </Button>
  )
}
