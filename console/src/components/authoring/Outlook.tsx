import type { Validation } from '../../api/wire.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { Badge } from '../Badge.js'
import { FactList } from '../FactList.js'
import styles from './authoring.module.css'
import { Findings } from './Findings.js'
import { lookTexts } from './look-texts.js'
import { ColumnList } from './PreviewTable.js'

export function Verdict({ isValid }: { readonly isValid: boolean }) {
  const texts = useTexts(lookTexts)
  return (
    <Badge tone={isValid ? 'ok' : 'bad'} icon={isValid ? 'check' : 'cross'}>
      {isValid ? texts.wouldStart : texts.wouldNotStart}
    </Badge>
  )
}

interface Props {
  readonly validation: Validation
  /** Also what the planner says, and the columns. */
  readonly isWhole?: boolean
}

/** How a run would go: how it reads and writes, what it promises, and what its owner should know. */
export function Outlook({ validation, isWhole = false }: Props) {
  const texts = useTexts(lookTexts)
  const format = useFormat()
  const { strategy, way, guarantee, reads, columns, creates_target, plan } = validation
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
          [texts.way, told(texts.ways, way)],
          [texts.guarantee, told(texts.guarantees, guarantee)],
          [texts.reads, told(texts.readsAs, reads)],
          [texts.columns, columns.length === 0 ? null : columns.length],
          [texts.expected, plan === null || !isWhole ? null : `~${format.number(plan.rows)}`],
          [texts.cost, plan === null || !isWhole ? null : format.number(Math.round(plan.total_cost))],
        ]}
      />
      {creates_target ? <p className={styles.note}>{texts.createsTarget}</p> : null}
      <Findings validation={validation} />
      {plan === null || !isWhole ? null : <PlanHints plan={plan} />}
      {isWhole ? <ColumnList columns={columns} /> : null}
    </div>
  )
}

/** A word of the API in our words, or as it came when it is new to us. */
function told(words: Readonly<Record<string, string>>, word: string | null): string | null {
  return word === null ? null : (words[word] ?? word)
}

type Plan = NonNullable<Validation['plan']>

/** Only what is worth a thought: a small table is read whole because that is the fastest way. */
function PlanHints({ plan: { scans, indexes } }: { readonly plan: Plan }) {
  const texts = useTexts(lookTexts)
  const format = useFormat()
  const worth = scans.filter(({ is_big, rows }) => is_big || rows === null)
  if (worth.length + indexes.length === 0) return null
  const size = (rows: number | null) =>
    rows === null ? texts.scanUnknown : texts.scanRows(format.number(rows))
  return (
    <ul className={styles.findings} aria-label={texts.planner}>
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
    </ul>
  )
}
