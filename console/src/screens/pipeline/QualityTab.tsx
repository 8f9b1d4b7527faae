import { Flex } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { reconcileQuery } from '../../api/pipeline.js'
import type { Reconciliation } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import grid from '../../components/layout/grid.module.css'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Scrollable } from '../../components/layout/Scrollable.js'
import { Badge } from '../../components/status/Badge.js'
import { NumberText } from '../../components/text/NumberText.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { ChecksPanel } from './ChecksPanel.js'
import { ComparisonPanel } from './ComparisonPanel.js'
import styles from './pipeline.module.css'
import { usePipeline } from './pipeline-context.js'
import { QuarantinePanel } from './QuarantinePanel.js'
import { qualityTexts } from './quality-texts.js'
import { useComparison } from './use-comparison.js'

export function QualityTab() {
  const texts = useTexts(qualityTexts)
  const { pipeline } = usePipeline()
  const { data, error, refetch, isFetching } = useQuery(reconcileQuery(pipeline.id))
  const comparison = useComparison(pipeline.id)
  return (
    <>
      <ChecksPanel />
      <Panel
        title={texts.reconcile}
        actions={
          // In the header, where content that arrives later cannot move them.
          <Flex component="span" className={styles.headActions} gap={8} wrap="wrap">
            <ActionButton
              needs="viewer"
              icon="retry"
              size="compact-sm"
              loading={isFetching}
              onClick={() => void refetch()}
            >
              {texts.again}
            </ActionButton>
            <ActionButton
              needs="operator"
              icon="quality"
              size="compact-sm"
              loading={comparison.isPending}
              onClick={comparison.start}
            >
              {texts.compare}
            </ActionButton>
          </Flex>
        }
      >
        <div className={styles.stack}>
          {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
          {data === undefined && error !== null ? null : <Counts result={data ?? null} />}
          <ComparisonPanel pipeline={pipeline} comparison={comparison} />
        </div>
      </Panel>
      <QuarantinePanel pipeline={pipeline} />
    </>
  )
}

/** Null: counting, which may take a while. The table already has its final height. */
function Counts({ result }: { readonly result: Reconciliation | null }) {
  const texts = useTexts(qualityTexts)
  const { notSet } = useTexts(shared)
  const field = result?.control_field ?? '…'
  return (
    <>
      <CountsBadge result={result} />
      <Scrollable className={grid.scroll} label={texts.counts}>
        <table className={`${grid.grid} ${grid.stacked} ${styles.counts}`}>
          <thead>
            <tr>
              <th scope="col">{texts.side}</th>
              <th scope="col">{texts.rows}</th>
              <th scope="col">{texts.lowest(field)}</th>
              <th scope="col">{texts.highest(field)}</th>
            </tr>
          </thead>
          <tbody>
            {(['source', 'target'] as const).map((side) => (
              <tr key={side}>
                <th scope="row">{side === 'source' ? texts.source : texts.mart}</th>
                <td data-name={texts.rows}>
                  {result === null ? '…' : <NumberText value={result[side].count} />}
                </td>
                {(['min', 'max'] as const).map((end) => {
                  const value = result === null ? '…' : (result[side][end] ?? notSet)
                  return (
                    <td key={end} data-name={(end === 'min' ? texts.lowest : texts.highest)(field)}>
                      <span className={`v-mono ${styles.oneLine}`} title={value}>
                        {value}
                      </span>
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrollable>
    </>
  )
}

function CountsBadge({ result }: { readonly result: Reconciliation | null }) {
  const texts = useTexts(qualityTexts)
  if (result === null)
    return (
      <Badge tone="rest" icon="clock">
        {texts.counting}
      </Badge>
    )
  return (
    <Badge tone={result.matches ? 'ok' : 'warn'} icon={result.matches ? 'check' : 'warn'}>
      {result.matches ? texts.matches : texts.differs}
    </Badge>
  )
}
