import { Flex } from '@mantine/core'
import type { Validation } from '../../api/wire.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { FactList } from '../layout/FactList.js'
import { Badge } from '../status/Badge.js'
import styles from './authoring.module.css'
import { ChangeSummary } from './ChangeSummary.js'
import { Findings } from './Findings.js'
import { inspectionTexts } from './inspection-texts.js'
import { ColumnList } from './PreviewTable.js'

export function ValidityBadge({ isValid }: { readonly isValid: boolean }) {
  const texts = useTexts(inspectionTexts)
  return (
    <Badge tone={isValid ? 'ok' : 'bad'} icon={isValid ? 'check' : 'cross'}>
      {isValid ? texts.valid : texts.invalid}
    </Badge>
  )
}

interface Props {
  readonly validation: Validation
  /** Also show the planner's findings and the columns. */
  readonly isWhole?: boolean
}

/** How a run would read and write, its guarantee, and warnings. */
export function ValidationSummary({ validation, isWhole = false }: Props) {
  const texts = useTexts(inspectionTexts)
  const format = useFormat()
  const { strategy, way, guarantee, reads, columns, creates_target, plan, changes } = validation
  return (
    <div className={styles.stack}>
      <FactList
        facts={[
          [
            texts.strategy,
            <code key="strategy" className="v-mono">
              {strategy}
            </code>,
          ],
          [texts.way, textOf(texts.ways, way)],
          [texts.guarantee, textOf(texts.guarantees, guarantee)],
          [texts.reads, textOf(texts.readsAs, reads)],
          [texts.columns, columns.length === 0 ? null : columns.length],
          [texts.expected, plan === null || !isWhole ? null : `~${format.number(plan.rows)}`],
          [texts.cost, plan === null || !isWhole ? null : format.number(Math.round(plan.total_cost))],
        ]}
      />
      {creates_target ? <p className={styles.note}>{texts.createsTarget}</p> : null}
      <Findings validation={validation} />
      {plan === null || !isWhole ? null : <PlanHints plan={plan} />}
      {changes === null ? null : <ChangeSummary changes={changes} />}
      {isWhole ? <ColumnList columns={columns} /> : null}
    </div>
  )
}

/** The text for a value of the API, or the value itself if it is unknown. */
function textOf(words: Readonly<Record<string, string>>, word: string | null): string | null {
  return word === null ? null : (words[word] ?? word)
}

type Plan = NonNullable<Validation['plan']>

/** Only relevant findings: a full scan of a small table is the fastest plan. */
function PlanHints({ plan: { scans, indexes } }: { readonly plan: Plan }) {
  const texts = useTexts(inspectionTexts)
  const format = useFormat()
  const worth = scans.filter(({ is_big, rows }) => is_big || rows === null)
  if (worth.length + indexes.length === 0) return null
  const size = (rows: number | null) =>
    rows === null ? texts.scanUnknown : texts.scanRows(format.number(rows))
  return (
    <Flex component="ul" className={styles.findings} direction="column" gap={6} aria-label={texts.planner}>
      {worth.map(({ table, rows, filter }) => (
        <li key={table} className={styles.finding}>
          <Icon name="info" size={14} />
          <span>
            {filter === null ? texts.scanAll(table, size(rows)) : texts.scanFilter(table, size(rows), filter)}
          </span>
        </li>
      ))}
      {indexes.map(({ table, statement }) => (
        <li key={statement} className={styles.finding} data-tone="warn">
          <Icon name="warn" size={14} />
          <div>
            {texts.noIndex(table)} <code className="v-mono">{statement}</code>
          </div>
        </li>
      ))}
    </Flex>
  )
}
