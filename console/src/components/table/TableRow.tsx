import { type CSSProperties, memo, type ReactNode } from 'react'
import { useTexts } from '../../i18n/texts.js'
import { shared } from '../texts.js'
import styles from './table.module.css'
import type { DataTableProps } from './table-props.js'

interface Props<Row> {
  readonly row: Row
  readonly n: number
  readonly table: DataTableProps<Row>
  readonly isPhone: boolean
  readonly isActive: boolean
  readonly isPicked: boolean
  readonly onFocus: (key: string) => void
  readonly onToggle: (row: Row) => void
  readonly style: CSSProperties | undefined
}

function Row<T>({ row, n, table, isPhone, isActive, isPicked, onFocus, onToggle, style }: Props<T>) {
  const key = table.keyOf(row)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Enter is a shortcut of the whole table, see use-row-keys.ts.
    <div
      role="row"
      aria-rowindex={n + 2}
      className={`${isPhone ? styles.card : styles.row} ${style === undefined ? '' : styles.virtual}`}
      data-row={key}
      data-active={isActive || undefined}
      data-picked={isPicked || undefined}
      tabIndex={isActive || n === 0 ? 0 : -1}
      style={style}
      onFocus={() => onFocus(key)}
      onClick={(event) => isOwnClick(event.target) && table.onOpen(row)}
    >
      {isPhone ? (
        <div role="cell">{table.card(row)}</div>
      ) : (
        <>
          {table.onPick === undefined ? null : (
            <Pick name={table.nameOf(row)} isPicked={isPicked} onToggle={() => onToggle(row)} />
          )}
          {table.columns.map((column) => (
            <div
              key={column.id}
              role="cell"
              className={`${styles.cell} ${column.align === 'end' ? styles.end : ''}`}
            >
              {column.cell(row)}
            </div>
          ))}
        </>
      )}
    </div>
  )
}

/** Unchanged rows are not rendered again: events affect a few of a thousand. */
export const TableRow = memo(Row, (before, after) => {
  const { table: a, onToggle: _b, style: styleBefore, ...rest } = before
  const { table: c, onToggle: _d, style: styleAfter, ...next } = after
  return (
    a.columns === c.columns &&
    a.card === c.card &&
    (a.onPick === undefined) === (c.onPick === undefined) &&
    styleBefore?.transform === styleAfter?.transform &&
    Object.entries(rest).every(([key, value]) => next[key as keyof typeof next] === value)
  )
}) as typeof Row

/** A native checkbox: a list renders hundreds while scrolling, and Mantine's consists of seven elements. */
function Pick({
  name,
  isPicked,
  onToggle,
}: {
  name: string
  isPicked: boolean
  onToggle: () => void
}): ReactNode {
  const texts = useTexts(shared)
  return (
    <div role="cell" className={styles.pick}>
      <input
        type="checkbox"
        className={styles.check}
        aria-label={texts.selectRow(name)}
        checked={isPicked}
        onChange={onToggle}
      />
    </div>
  )
}

/** Clicks on links and buttons inside, and text selection, do not open the row. */
function isOwnClick(target: EventTarget): boolean {
  if (target instanceof Element && target.closest('a, button, input, label, [role="menuitem"]') !== null)
    return false
  return window.getSelection()?.isCollapsed ?? true
}
