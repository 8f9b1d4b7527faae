import { useCallback, useMemo, useState } from 'react'
import type { QuarantinedRow } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import type { Column } from '../../components/table/column.js'
import { DataTable } from '../../components/table/DataTable.js'
import { SelectionBar } from '../../components/table/SelectionBar.js'
import { useTexts } from '../../i18n/texts.js'
import {
  ActionsCell,
  KeyCell,
  PipelineCell,
  type QuarantineActions,
  ReasonCell,
  RefusedCell,
  RowCard,
} from './cells.js'
import { choiceOf, DiscardDialog, ResultDialog } from './dialogs.js'
import { RowDrawer } from './RowDrawer.js'
import { quarantineTexts } from './texts.js'
import { type Settler, useSettling } from './use-settling.js'

const keyOf = ({ id }: QuarantinedRow) => id
const nameOf = ({ key }: QuarantinedRow) => key

interface Props {
  readonly rows: readonly QuarantinedRow[]
  /** The id of the open row. */
  readonly openedId: string | null
  readonly onOpen: (row: QuarantinedRow | null) => void
  readonly isDimmed: boolean
}

export function QuarantineTable({ rows, openedId, onOpen, isDimmed }: Props) {
  const texts = useTexts(quarantineTexts)
  const [picked, pick] = useState<ReadonlySet<string>>(new Set())
  const [asked, ask] = useState<readonly QuarantinedRow[] | null>(null)
  const settler = useSettling(() => pick(new Set()))
  const actions = useRowActions(settler, ask)
  const columns = useColumns(actions)
  const card = useCallback((row: QuarantinedRow) => <RowCard row={row} {...actions} />, [actions])
  const shown = rows.find(({ id }) => id === openedId)
  const chosen = rows.filter(({ id }) => picked.has(id))
  return (
    <>
      <DataTable
        label={texts.title}
        rows={rows}
        columns={columns}
        keyOf={keyOf}
        nameOf={nameOf}
        card={card}
        isDimmed={isDimmed}
        picked={picked}
        onPick={pick}
        onOpen={onOpen}
      />
      <PickedBar rows={chosen} settler={settler} onDiscard={ask} onClear={() => pick(new Set())} />
      {shown === undefined ? null : <RowDrawer row={shown} {...actions} onClose={() => onOpen(null)} />}
      {asked === null ? null : (
        <DiscardDialog
          selection={{ kind: 'rows', rows: asked }}
          onConfirm={() => settler.discard(choiceOf({ kind: 'rows', rows: asked }))}
          onClose={() => ask(null)}
        />
      )}
      {settler.result === null ? null : <ResultDialog settled={settler.result} onClose={settler.forget} />}
    </>
  )
}

/** Stable objects, so that unchanged rows are not rendered again. */
function useRowActions(settler: Settler, ask: (rows: readonly QuarantinedRow[]) => void): QuarantineActions {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the functions of a settler never change, only its result does.
  return useMemo(
    () => ({
      onReplay: (row) => void settler.replay(choiceOf({ kind: 'rows', rows: [row] })),
      onDiscard: (row) => ask([row]),
    }),
    [ask],
  )
}

function useColumns(actions: QuarantineActions): readonly Column<QuarantinedRow>[] {
  const { columns: names } = useTexts(quarantineTexts)
  return useMemo(
    () => [
      { id: 'key', header: names.key, width: 'minmax(150px, 1.5fr)', cell: (row) => <KeyCell row={row} /> },
      {
        id: 'pipeline',
        header: names.pipeline,
        width: 'minmax(120px, 1fr)',
        cell: (row) => <PipelineCell row={row} />,
      },
      {
        id: 'reason',
        header: names.reason,
        width: 'minmax(200px, 2.2fr)',
        cell: (row) => <ReasonCell row={row} />,
      },
      {
        id: 'refused',
        header: names.refused,
        width: 'minmax(112px, 0.7fr)',
        cell: (row) => <RefusedCell row={row} />,
      },
      {
        id: 'actions',
        header: names.actions,
        width: '68px',
        cell: (row) => <ActionsCell row={row} {...actions} />,
      },
    ],
    [names, actions],
  )
}

interface PickedProps {
  readonly rows: readonly QuarantinedRow[]
  readonly settler: Settler
  readonly onDiscard: (rows: readonly QuarantinedRow[]) => void
  readonly onClear: () => void
}

function PickedBar({ rows, settler, onDiscard, onClear }: PickedProps) {
  const texts = useTexts(quarantineTexts)
  return (
    <SelectionBar count={rows.length} onClear={onClear}>
      <ActionButton
        needs="operator"
        icon="retry"
        onClick={() => void settler.replay(choiceOf({ kind: 'rows', rows }))}
      >
        {texts.replay}
      </ActionButton>
      <ActionButton needs="operator" icon="cross" onClick={() => onDiscard(rows)}>
        {texts.discardDots}
      </ActionButton>
    </SelectionBar>
  )
}
