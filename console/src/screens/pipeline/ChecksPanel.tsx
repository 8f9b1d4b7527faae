import { Flex } from '@mantine/core'
import type { PipelineLine } from '../../api/wire.js'
import { Panel } from '../../components/layout/Panel.js'
import { Badge, type Tone } from '../../components/status/Badge.js'
import { CheckBadge, CheckLink, useFindingText } from '../../components/status/CheckFinding.js'
import { checkTexts } from '../../components/status/check-texts.js'
import { Tip } from '../../components/text/Tip.js'
import { checksOf, type QualityResult, type QualityVerdict } from '../../facts/quality.js'
import { useTexts } from '../../i18n/texts.js'
import type { IconName } from '../../theme/icons.js'
import { useNow } from '../../time/clock.js'
import styles from './checks.module.css'
import { usePipeline } from './pipeline-context.js'
import { qualityTexts } from './quality-texts.js'

/** The checks that need no rows: the same as in the list of all marts. */
export function ChecksPanel() {
  const texts = useTexts(qualityTexts)
  const { line } = usePipeline()
  const now = useNow()
  if (line === null) return null
  return (
    <Panel title={texts.checks}>
      <Flex component="ul" className={styles.checks} direction="column" gap={4}>
        {checksOf(line, now).map((found) => (
          <Check key={found.check} line={line} found={found} />
        ))}
      </Flex>
    </Panel>
  )
}

const CALM: Readonly<Record<Exclude<QualityVerdict, 'warn' | 'fail'>, { tone: Tone; icon: IconName }>> = {
  pass: { tone: 'ok', icon: 'check' },
  unknown: { tone: 'rest', icon: 'dash' },
}

function Check({ line, found }: { readonly line: PipelineLine; readonly found: QualityResult }) {
  const { names, verdicts } = useTexts(checkTexts)
  const { check, verdict } = found
  const isWrong = verdict === 'warn' || verdict === 'fail'
  return (
    <li>
      <span className={styles.name}>{names[check]}</span>
      <span className={styles.verdict}>
        {isWrong ? (
          <CheckBadge line={line} found={found} />
        ) : (
          <Badge {...CALM[verdict]}>{verdicts[verdict]}</Badge>
        )}
      </span>
      {/* The result of a comparison is shown right below, and may change while the page is open. */}
      {isWrong && check !== 'compare' ? (
        <>
          <Sentence line={line} found={found} />
          <CheckLink line={line} check={check} />
        </>
      ) : null}
    </li>
  )
}

function Sentence({ line, found }: { readonly line: PipelineLine; readonly found: QualityResult }) {
  const text = useFindingText(line, found.check)
  return (
    <Tip label={text}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: truncated text is in the tooltip, which must be reachable by keyboard. */}
      <span className={styles.sentence} tabIndex={0}>
        {text}
      </span>
    </Tip>
  )
}
