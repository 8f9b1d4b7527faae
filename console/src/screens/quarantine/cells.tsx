import { Link } from '@tanstack/react-router'
import type { QuarantinedRow, QuarantineStatus } from '../../api/wire.js'
import { ActionIconButton } from '../../components/actions/ActionButton.js'
import list from '../../components/layout/list.module.css'
import { Badge, type Tone } from '../../components/status/Badge.js'
import { TimeText } from '../../components/text/TimeText.js'
import { useTexts } from '../../i18n/texts.js'
import type { IconName } from '../../theme/icons.js'
import styles from './quarantine.module.css'
import { quarantineTexts } from './texts.js'

interface CellProps {
  readonly row: QuarantinedRow
}

export interface QuarantineActions {
  readonly onReplay: (row: QuarantinedRow) => void
  readonly onDiscard: (row: QuarantinedRow) => void
}

const BADGES: Readonly<Record<QuarantineStatus, { tone: Tone; icon: IconName }>> = {
  HELD: { tone: 'warn', icon: 'quarantine' },
  REPLAY_REQUESTED: { tone: 'run', icon: 'clock' },
  REPLAYED: { tone: 'ok', icon: 'check' },
  DISCARDED: { tone: 'rest', icon: 'cross' },
}

export function StatusBadge({ status }: { readonly status: QuarantineStatus }) {
  const { rowStatus } = useTexts(quarantineTexts)
  return <Badge {...BADGES[status]}>{rowStatus[status]}</Badge>
}

/** Why a row cannot be replayed or discarded; null: it can. */
export function useRowRefusals({ status }: Pick<QuarantinedRow, 'status'>): {
  replay: string | null
  discard: string | null
} {
  const texts = useTexts(quarantineTexts)
  const isOver = status === 'REPLAYED' || status === 'DISCARDED'
  return {
    replay: isOver ? texts.isSettled : status === 'REPLAY_REQUESTED' ? texts.isRequested : null,
    discard: isOver ? texts.isSettled : null,
  }
}

export function KeyCell({ row }: CellProps) {
  return <span className={`${styles.key} v-mono`}>{row.key}</span>
}

export function PipelineCell({ row }: CellProps) {
  return (
    <div className={list.two}>
      <Link to="/pipelines/$id/quality" params={{ id: row.pipeline_id }} className={list.name}>
        {row.pipeline_name}
      </Link>
    </div>
  )
}

export function ReasonCell({ row }: CellProps) {
  return (
    <div className={styles.reason}>
      <span className={styles.clamp} title={row.reason}>
        {row.reason}
      </span>
      {row.sqlstate === null ? null : <code className={`${styles.code} v-mono`}>{row.sqlstate}</code>}
    </div>
  )
}

export function RefusedCell({ row }: CellProps) {
  const texts = useTexts(quarantineTexts)
  return (
    <div className={list.two}>
      <TimeText at={row.refused_at} as="short" />
      <Link to="/runs/$id" params={{ id: row.run_id }} className={`${list.soft} v-link`}>
        {texts.row.run} <span className="v-mono">{row.run_id.slice(0, 8)}</span>
      </Link>
    </div>
  )
}

export function ActionsCell({ row, onReplay, onDiscard }: CellProps & QuarantineActions) {
  const texts = useTexts(quarantineTexts)
  const refusals = useRowRefusals(row)
  return (
    <div className={styles.rowActions}>
      <ActionIconButton
        needs="operator"
        icon="retry"
        label={texts.replayRow(row.key)}
        refusal={refusals.replay}
        onClick={() => onReplay(row)}
      />
      <ActionIconButton
        needs="operator"
        icon="cross"
        label={texts.discardRow(row.key)}
        refusal={refusals.discard}
        onClick={() => onDiscard(row)}
      />
    </div>
  )
}

export function RowCard({ row, ...actions }: CellProps & QuarantineActions) {
  return (
    <div className={styles.card}>
      <div className={styles.cardTop}>
        <KeyCell row={row} />
        <ActionsCell row={row} {...actions} />
      </div>
      <ReasonCell row={row} />
      <div className={styles.cardTop}>
        <PipelineCell row={row} />
        <TimeText at={row.refused_at} as="relative" />
      </div>
    </div>
  )
}
