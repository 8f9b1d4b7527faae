import { Link } from '@tanstack/react-router'
import type { PipelineLine } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { usePipelineActions } from '../../components/actions/use-pipeline-actions.js'
import { Panel } from '../../components/layout/Panel.js'
import { CheckBadge, CheckLink, useFindingText } from '../../components/status/CheckFinding.js'
import { checkTexts } from '../../components/status/check-texts.js'
import { TimeText } from '../../components/text/TimeText.js'
import type { Checked } from '../../facts/quality.js'
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
        <p className={styles.calm}>
          <Icon name="check" /> {texts.calmText}
        </p>
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
    <li className={styles.entry}>
      <div className={styles.entryTop}>
        <Link to="/pipelines/$id/overview" params={{ id: line.id }} className={styles.name}>
          {line.name}
        </Link>
        <span className={`${styles.soft} ${styles.target} v-mono`}>{line.target_table}</span>
        <RunButton line={line} isAgain={found.some(({ check }) => check === 'run')} />
      </div>
      {found.map((each) => (
        <Finding key={each.check} line={line} found={each} />
      ))}
    </li>
  )
}

function Finding({ line, found }: { readonly line: PipelineLine; readonly found: Checked }) {
  const texts = useTexts(checkTexts)
  const text = useFindingText(line, found.check)
  const run = found.check === 'run' ? line.last_run : null
  return (
    <div className={styles.finding}>
      <CheckBadge line={line} found={found} />
      <div className={styles.findingText}>
        {run?.error_code == null ? null : (
          <span className={styles.code}>
            <code className="v-mono">{run.error_code}</code> <TimeText at={run.finished_at} as="relative" />
          </span>
        )}
        <span className={styles.clamp}>{text}</span>
        {run?.error_hint == null ? null : (
          <span className={styles.hint}>
            <strong>{texts.hint}.</strong> {run.error_hint}
          </span>
        )}
      </div>
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
