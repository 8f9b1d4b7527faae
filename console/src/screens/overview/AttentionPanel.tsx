import { Flex, Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { PipelineLine } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { usePipelineActions } from '../../components/actions/use-pipeline-actions.js'
import { Panel } from '../../components/layout/Panel.js'
import { CheckBadge, CheckLink, useFindingText } from '../../components/status/CheckFinding.js'
import { checkTexts } from '../../components/status/check-texts.js'
import { TimeText } from '../../components/text/TimeText.js'
import type { QualityResult } from '../../facts/quality.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { useNow } from '../../time/clock.js'
import { type Attention, attentionOf } from './attention.js'
import styles from './overview.module.css'
import { overviewTexts } from './texts.js'

/** The maximum shown here; the list of checks has all. */
const MOST = 12

export function AttentionPanel({ lines }: { readonly lines: readonly PipelineLine[] }) {
  const texts = useTexts(overviewTexts)
  const needing = attentionOf(lines, useNow())
  const hidden = needing.length - MOST
  return (
    <Panel
      title={texts.attention}
      isFlush
      actions={
        <Link to="/quality" className="v-link">
          {texts.allQuality}
        </Link>
      }
    >
      {needing.length === 0 ? (
        <Flex component="p" className={styles.calm} gap={8} align="center">
          <Icon name="check" /> {texts.calmText}
        </Flex>
      ) : (
        <ul className={styles.list}>
          {needing.slice(0, MOST).map((each) => (
            <Needing key={each.line.id} attention={each} />
          ))}
        </ul>
      )}
      {hidden > 0 ? (
        <p className={styles.rest}>
          <Link to="/quality" search={{ show: 'attention' }} className="v-link">
            {texts.attentionMore(hidden)}
          </Link>
        </p>
      ) : null}
    </Panel>
  )
}

function Needing({ attention: { line, found } }: { readonly attention: Attention }) {
  return (
    <Flex component="li" direction="column" gap={8} py={12} px={14}>
      <Flex className={styles.entryTop} rowGap={4} columnGap={10} align="center" wrap="wrap">
        <Link to="/pipelines/$id/overview" params={{ id: line.id }} className={styles.name}>
          {line.name}
        </Link>
        <span className={`${styles.soft} ${styles.target} v-mono`}>{line.target_table}</span>
        <RunButton line={line} isAgain={found.some(({ check }) => check === 'run')} />
      </Flex>
      {found.map((each) => (
        <Finding key={each.check} line={line} found={each} />
      ))}
    </Flex>
  )
}

function Finding({ line, found }: { readonly line: PipelineLine; readonly found: QualityResult }) {
  const texts = useTexts(checkTexts)
  const text = useFindingText(line, found.check)
  const run = found.check === 'run' ? line.last_run : null
  return (
    <div className={styles.finding}>
      <CheckBadge line={line} found={found} />
      <Stack className={styles.findingText} gap={2}>
        {run?.error_code == null ? null : (
          <Flex component="span" className={styles.code} rowGap={0} columnGap={8} wrap="wrap">
            <code className="v-mono">{run.error_code}</code> <TimeText at={run.finished_at} as="relative" />
          </Flex>
        )}
        <span className={styles.clamp}>{text}</span>
        {run?.error_hint == null ? null : (
          <span className={styles.hint}>
            <strong>{texts.hint}.</strong> {run.error_hint}
          </span>
        )}
      </Stack>
      <CheckLink line={line} check={found.check} />
    </div>
  )
}

function RunButton({ line, isAgain }: { readonly line: PipelineLine; readonly isAgain: boolean }) {
  const texts = useTexts(overviewTexts)
  const { run } = usePipelineActions()(line)
  return (
    <ActionButton
      needs="operator"
      icon={isAgain ? 'retry' : 'play'}
      size="compact-sm"
      refusal={run.refusal}
      onClick={run.onClick}
    >
      {isAgain ? texts.runAgain : texts.runNow}
    </ActionButton>
  )
}
