import type { PipelineLine } from '../../api/wire.js'
import list from '../../components/layout/list.module.css'
import { DataStateBadge } from '../../components/status/DataStateBadge.js'
import { dataFactsOf } from '../../facts/data-state.js'
import { useNow } from '../../time/clock.js'
import { NameCell, NowCell, RunsCell } from './cells.js'
import styles from './pipelines.module.css'
import { RowActions } from './RowActions.js'

/** A pipeline on a phone. */
export function PipelineCard({ line }: { readonly line: PipelineLine }) {
  const facts = dataFactsOf(line, useNow())
  return (
    <div className={styles.card}>
      <div className={list.cardTop}>
        <NameCell line={line} />
        <RowActions line={line} />
      </div>
      <div className={list.cardTop}>
        <NowCell line={line} />
        <DataStateBadge facts={facts} />
      </div>
      <RunsCell line={line} />
    </div>
  )
}
