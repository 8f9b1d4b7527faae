import { Checkbox } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type CSSProperties, useRef } from 'react'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { shared } from '../texts.js'
import type { Column } from './column.js'
import { RowShortcut } from './RowShortcut.js'
import { TableRow } from './TableRow.js'
import styles from './table.module.css'
import type { DataTableProps } from './table-props.js'
import { useRowKeys } from './use-row-keys.js'

/** Up to this number every row is in the page, so that the browser's search finds it. */
const ALL_ROWS = 120
export const SCROLLER_ID = 'main'

/** A list with the shortcuts j, k, Enter and x; virtualized, so that 1,000 rows stay fast. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { rows, columns, keyOf, onOpen, picked, onPick, rowHeight = 56 } = props
  const isPhone = useMediaQuery('(max-width: 719px)', undefined, { getInitialValueInEffect: false }) ?? false
  const body = useRef<HTMLDivElement>(null)
  const isVirtual = rows.length > ALL_ROWS
  const virtual = useVirtualizer({
    count: isVirtual ? rows.length : 0,
    getScrollElement: () => document.getElementById(SCROLLER_ID),
    estimateSize: () => (isPhone ? 132 : rowHeight),
    scrollMargin: body.current?.offsetTop ?? 0,
    overscan: 8,
    getItemKey: (n) => keyOf(rows[n] as Row),
  })
  const toggle = (row: Row) => onPick?.(toggled(picked ?? new Set(), keyOf(row)))
  const {
    active,
    setActive,
    row: activeRow,
  } = useRowKeys({
    rows,
    keyOf,
    onOpen,
    onToggle: onPick === undefined ? null : toggle,
    reveal: (n) => (isVirtual ? virtual.scrollToIndex(n, { align: 'auto' }) : undefined),
    body,
  })
  const tracks = [...(onPick === undefined ? [] : ['16px']), ...columns.map(({ width }) => width)].join(' ')
  const row = (item: Row, n: number, style?: CSSProperties) => (
    <TableRow
      key={keyOf(item)}
      row={item}
      n={n}
      table={props}
      isPhone={isPhone}
      isActive={active === keyOf(item)}
      isPicked={picked?.has(keyOf(item)) ?? false}
      onFocus={setActive}
      onToggle={toggle}
      style={style}
    />
  )
  const total = isVirtual ? { height: virtual.getTotalSize() } : undefined
  return (
    <div
      className={styles.table}
      role="table"
      aria-label={props.label}
      aria-rowcount={rows.length + 1}
      style={{ '--tracks': tracks, '--row-height': `${rowHeight}px` } as CSSProperties}
    >
      {props.rowKeys?.map((each) => (
        <RowShortcut key={each.keys} rowKey={each} row={activeRow} />
      ))}
      {isPhone ? null : <TableHead {...props} />}
      <div
        ref={body}
        role="rowgroup"
        className={`${styles.body} ${props.isDimmed ? styles.dimmed : ''}`}
        style={total}
      >
        {isVirtual
          ? virtual.getVirtualItems().map(({ index, start }) =>
              row(rows[index] as Row, index, {
                transform: `translateY(${start - virtual.options.scrollMargin}px)`,
              }),
            )
          : rows.map((item, n) => row(item, n))}
      </div>
    </div>
  )
}

function TableHead<Row>({ rows, columns, keyOf, sort, onSort, picked, onPick }: DataTableProps<Row>) {
  const texts = useTexts(shared)
  const all = rows.length > 0 && rows.every((row) => picked?.has(keyOf(row)))
  return (
    <div role="rowgroup">
      <div className={styles.head} role="row" aria-rowindex={1}>
        {onPick === undefined ? null : (
          <span role="columnheader" className={styles.pick}>
            <Checkbox
              size="xs"
              aria-label={texts.selectAll}
              checked={all}
              indeterminate={!all && (picked?.size ?? 0) > 0}
              onChange={() => onPick(new Set(all ? [] : rows.map(keyOf)))}
            />
          </span>
        )}
        {columns.map((column) => (
          <span
            key={column.id}
            role="columnheader"
            className={column.align === 'end' ? styles.end : undefined}
            aria-sort={sort?.by === column.id ? (sort.isDescending ? 'descending' : 'ascending') : undefined}
          >
            <HeadCell column={column} sort={sort} onSort={onSort} />
          </span>
        ))}
      </div>
    </div>
  )
}

function HeadCell<Row>({
  column,
  sort,
  onSort,
}: { column: Column<Row> } & Pick<DataTableProps<Row>, 'sort' | 'onSort'>) {
  const texts = useTexts(shared)
  if (column.isSortable !== true || onSort === undefined) return column.header
  const isBy = sort?.by === column.id
  return (
    <button
      type="button"
      className={styles.sort}
      aria-label={texts.sortBy(column.header)}
      onClick={() => onSort({ by: column.id, isDescending: isBy && sort?.isDescending === false })}
    >
      {column.header}
      {isBy ? <Icon name={sort?.isDescending ? 'down' : 'up'} size={12} /> : null}
    </button>
  )
}

function toggled(picked: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(picked)
  if (!next.delete(key)) next.add(key)
  return next
}
