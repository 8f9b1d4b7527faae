import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { PipelineLine } from '../../api/wire.js'
import list from '../../components/layout/list.module.css'
import { Badge } from '../../components/status/Badge.js'
import { CheckBadge, useComparisonText, useFindingText } from '../../components/status/CheckFinding.js'
import { checkTexts } from '../../components/status/check-texts.js'
import { DataDue } from '../../components/status/DataDue.js'
import { DataStateBadge } from '../../components/status/DataStateBadge.js'
import { TimeText } from '../../components/text/TimeText.js'
import { Tip } from '../../components/text/Tip.js'
import { dataFactsOf } from '../../facts/data-state.js'
import { checksOf, driftOf, lastComparisonOf, type QualityResult, weightOf } from '../../facts/quality.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import { CompareButton } from './CompareButton.js'
import styles from './quality.module.css'
import { fleetQualityTexts } from './texts.js'

interface CellProps {
  readonly line: PipelineLine
}

export function NameCell({ line }: CellProps) {
  return (
    <div className={list.two}>
      <Link to="/pipelines/$id/quality" params={{ id: line.id }} className={list.name}>
        {line.name}
      </Link>
      <span className={`${list.soft} v-mono`}>{line.target_table}</span>
    </div>
  )
}

/** The number of passed checks, a mark for each, and the worst result as a sentence. */
export function ChecksCell({ line }: CellProps) {
  const texts = useTexts(fleetQualityTexts)
  const checks = checksOf(line, useNow())
  const passed = checks.filter(({ verdict }) => verdict === 'pass').length
  const unknown = checks.filter(({ verdict }) => verdict === 'unknown').length
  const [worst] = [...checks].sort((a, b) => weightOf([b]) - weightOf([a]))
  return (
    <div className={list.two}>
      <span className={styles.marks}>
        <Tip label={<AllChecks checks={checks} />}>
          <span className={styles.dots} aria-hidden="true">
            {checks.map(({ check, verdict }) => (
              <span key={check} className={styles.mark} data-verdict={verdict} />
            ))}
          </span>
        </Tip>
        <span className={styles.count}>{texts.passed(passed, checks.length)}</span>
      </span>
      {worst === undefined || worst.verdict === 'pass' ? null : worst.verdict === 'unknown' ? (
        <span className={list.soft}>{texts.unknown(unknown)}</span>
      ) : (
        <Worst line={line} found={worst} />
      )}
    </div>
  )
}

function Worst({ line, found }: CellProps & { readonly found: QualityResult }) {
  const text = useFindingText(line, found.check)
  return (
    <Tip label={text}>
      <CheckBadge line={line} found={found} />
    </Tip>
  )
}

function AllChecks({ checks }: { readonly checks: readonly QualityResult[] }) {
  const texts = useTexts(checkTexts)
  return (
    <span className={styles.all}>
      {checks.map(({ check, verdict }) => (
        <span key={check}>
          {texts.names[check]}: {texts.verdicts[verdict]}
        </span>
      ))}
    </span>
  )
}

export function DataCell({ line }: CellProps) {
  const facts = dataFactsOf(line, useNow())
  return (
    <div className={list.two}>
      <DataStateBadge facts={facts} />
      <DataDue facts={facts} />
    </div>
  )
}

export function ComparisonCell({ line }: CellProps) {
  const texts = useTexts(fleetQualityTexts)
  const format = useFormat()
  const describe = useComparisonText()
  const last = lastComparisonOf(line)
  if (last === null)
    return (
      <Badge tone="rest" icon="dash">
        {texts.notCompared}
      </Badge>
    )
  const { comparison, isDeep, isOutdated } = last
  const { matches, at, source_rows } = comparison
  const word = matches
    ? isDeep
      ? texts.matches
      : texts.countsMatch
    : isDeep
      ? texts.drifted(driftOf(last))
      : texts.countsDiffer
  return (
    <div className={list.two}>
      <Tip label={matches ? null : describe(last)}>
        <Badge
          tone={matches ? 'ok' : isDeep && !isOutdated ? 'bad' : 'warn'}
          icon={matches ? 'check' : 'warn'}
          more={matches ? texts.rows(format.compact(source_rows)) : null}
        >
          {word}
        </Badge>
      </Tip>
      <span className={list.soft}>
        <TimeText at={at} as="relative" />
        {isOutdated ? ` · ${texts.outdated}` : null}
      </span>
    </div>
  )
}

export function QuarantineCell({ line }: CellProps) {
  const texts = useTexts(fleetQualityTexts)
  const format = useFormat()
  if (line.quarantined === 0) return <span className="v-soft">{texts.none}</span>
  return (
    <Link
      to="/quarantine"
      search={{ pipeline: line.id }}
      className={styles.held}
      aria-label={texts.openQuarantine(line.name)}
    >
      <Badge tone="warn" icon="quarantine">
        {format.number(line.quarantined)}
      </Badge>
    </Link>
  )
}

export function ActionsCell({ line }: CellProps) {
  const texts = useTexts(fleetQualityTexts)
  return (
    <div className={styles.actions}>
      <CompareButton line={line} />
      <Button
        component={Link}
        className={styles.open}
        to="/pipelines/$id/quality"
        params={{ id: line.id } as never}
        variant="subtle"
        color="gray"
        size="compact-sm"
        aria-label={texts.openName(line.name)}
      >
        {texts.open}
      </Button>
    </div>
  )
}

export function QualityCard({ line }: CellProps) {
  return (
    <div className={styles.card}>
      <div className={list.cardTop}>
        <NameCell line={line} />
        {line.quarantined === 0 ? null : <QuarantineCell line={line} />}
      </div>
      <div className={styles.cardFacts}>
        <ChecksCell line={line} />
        <DataCell line={line} />
        <ComparisonCell line={line} />
      </div>
      <ActionsCell line={line} />
    </div>
  )
}
