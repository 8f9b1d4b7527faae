import { useQuery } from '@tanstack/react-query'
import { reconcileQuery } from '../../api/pipeline.js'
import type { Reconciliation } from '../../api/wire.js'
import { ActionButton } from '../../components/ActionButton.js'
import { Badge } from '../../components/Badge.js'
import grid from '../../components/grid.module.css'
import { NumberText } from '../../components/NumberText.js'
import { Panel } from '../../components/Panel.js'
import { ProblemCard } from '../../components/ProblemCard.js'
import { Skeleton } from '../../components/Skeleton.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { ChecksPanel } from './ChecksPanel.js'
import { Comparison } from './Comparison.js'
import styles from './pipeline.module.css'
import { usePipeline } from './pipeline-context.js'
import { QuarantinePanel } from './QuarantinePanel.js'
import { qualityTexts } from './quality-texts.js'

export function QualityTab() {
  const texts = useTexts(qualityTexts)
  const { pipeline } = usePipeline()
  const { data, error, refetch, isFetching } = useQuery(reconcileQuery(pipeline.id))
  return (
    <>
      <ChecksPanel />
      <Panel
        title={texts.reconcile}
        actions={
          <ActionButton
            needs="viewer"
            icon="retry"
            size="compact-sm"
            loading={isFetching}
            onClick={() => void refetch()}
          >
            {texts.again}
          </ActionButton>
        }
      >
        <div className={styles.stack}>
          {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
          {data !== undefined ? <Counts result={data} /> : error === null ? <Skeleton lines={3} /> : null}
          <Comparison pipeline={pipeline} />
        </div>
      </Panel>
      <QuarantinePanel pipeline={pipeline} />
    </>
  )
}

function Counts({ result }: { readonly result: Reconciliation }) {
  const texts = useTexts(qualityTexts)
  const { notSet } = useTexts(shared)
  const { matches, control_field: field } = result
  return (
    <>
      <Badge tone={matches ? 'ok' : 'warn'} icon={matches ? 'check' : 'warn'}>
        {matches ? texts.matches : texts.differs}
      </Badge>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
      <section className={grid.scroll} tabIndex={0} aria-label={texts.counts}>
        <table className={`${grid.grid} ${grid.stacked}`}>
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
                  <NumberText value={result[side].count} />
                </td>
                <td className="v-mono" data-name={texts.lowest(field)}>
                  {result[side].min ?? notSet}
                </td>
                <td className="v-mono" data-name={texts.highest(field)}>
                  {result[side].max ?? notSet}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  )
}
