import { Group } from '@mantine/core'
import { useState } from 'react'
import type { Pipeline, Reconciliation } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { Columns } from '../../components/layout/Columns.js'
import grid from '../../components/layout/grid.module.css'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Badge } from '../../components/status/Badge.js'
import { NumberText } from '../../components/text/NumberText.js'
import { TimeText } from '../../components/text/TimeText.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './pipeline.module.css'
import { usePipeline } from './pipeline-context.js'
import { qualityTexts } from './quality-texts.js'
import { RepairDialog } from './RepairDialog.js'
import type { ComparisonState } from './use-comparison.js'

interface Props {
  readonly pipeline: Pipeline
  readonly comparison: ComparisonState
}

/** The result of a comparison of all rows, or of the previous one. */
export function ComparisonPanel({ pipeline, comparison: { found, error, isPending, start } }: Props) {
  const texts = useTexts(qualityTexts)
  return (
    <>
      {isPending ? (
        <p className={styles.note} role="status">
          {texts.comparing}
        </p>
      ) : null}
      {error === null ? null : <ProblemCard error={error} onRetry={start} />}
      {found !== null ? (
        <>
          <span className="v-soft">
            {texts.comparedAt} <TimeText at={found.at} />
          </span>
          <Differences pipeline={pipeline} result={found.result} />
        </>
      ) : isPending ? null : (
        <Before />
      )}
    </>
  )
}

/** The stored result of the last comparison of all rows. It has no keys; compare again to see them. */
function Before() {
  const texts = useTexts(qualityTexts)
  const format = useFormat()
  const { line } = usePipeline()
  const last = line?.compared.rows ?? null
  if (line === null || last === null) return <p className={styles.note}>{texts.neverCompared}</p>
  const drift = last.missing + last.extra + last.different
  const isOutdated = last.config_version !== line.config_version || (line.last_success_at ?? '') > last.at
  return (
    <Group gap={8}>
      <Badge
        tone={drift === 0 ? 'ok' : isOutdated ? 'warn' : 'bad'}
        icon={drift === 0 ? 'check' : 'warn'}
        more={texts.compared(last.source_rows, format.duration(last.duration_ms))}
      >
        {drift === 0 ? texts.equal : texts.drift(drift)}
      </Badge>
      <span className="v-soft">
        {texts.comparedAt} <TimeText at={last.at} as="moment" />
        {isOutdated ? ` · ${texts.outdated}` : null}
      </span>
    </Group>
  )
}

const KINDS = ['missing', 'extra', 'different'] as const

function driftOf(result: Reconciliation): number {
  return KINDS.reduce((sum, kind) => sum + (result[kind]?.count ?? 0), 0)
}

function Differences({ pipeline, result }: { readonly pipeline: Pipeline; readonly result: Reconciliation }) {
  const texts = useTexts(qualityTexts)
  const { line } = usePipeline()
  const [isAsked, ask] = useState(false)
  const drift = driftOf(result)
  const { on_their_way: pending = 0, undecided = 0 } = result
  const isPausing = (line ?? pipeline).status === 'PAUSE_REQUESTED'
  return (
    <div className={styles.stack} role="status">
      <Badge tone={drift === 0 ? 'ok' : 'bad'} icon={drift === 0 ? 'check' : 'warn'}>
        {drift === 0 ? texts.equal : texts.drift(drift)}
      </Badge>
      {pending === 0 ? null : (
        <p className={styles.note}>
          {texts.pending(pending)} {undecided === 0 ? '' : texts.undecided(undecided)}
        </p>
      )}
      <Columns least={300}>
        {KINDS.map((kind) => (
          <Kind key={kind} kind={kind} drift={result[kind]} />
        ))}
      </Columns>
      {drift === 0 ? null : (
        <Group gap={8}>
          <ActionButton
            needs="operator"
            icon="retry"
            refusal={isPausing ? texts.pausing : null}
            onClick={() => ask(true)}
          >
            {texts.repair(drift)}
          </ActionButton>
        </Group>
      )}
      {isAsked ? <RepairDialog pipeline={pipeline} result={result} onClose={() => ask(false)} /> : null}
    </div>
  )
}

interface KindProps {
  readonly kind: (typeof KINDS)[number]
  readonly drift: Reconciliation['missing']
}

function Kind({ kind, drift }: KindProps) {
  const texts = useTexts(qualityTexts)
  const { count = 0, keys = [] } = drift ?? {}
  return (
    <div>
      <strong>
        {texts[kind]} <NumberText value={count} />
      </strong>
      <div className="v-soft">{texts[`${kind}What`]}</div>
      {keys.length === 0 ? null : (
        <details>
          <summary>{texts.keys(keys.length, count)}</summary>
          <ul className={`${grid.keys} v-mono`}>
            {keys.map((key) => {
              const text = Object.entries(key)
                .map(([name, value]) => `${name}=${value ?? 'null'}`)
                .join(', ')
              return <li key={text}>{text}</li>
            })}
          </ul>
        </details>
      )}
    </div>
  )
}
