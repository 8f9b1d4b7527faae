import type { ReactNode } from 'react'
import type { Column, Sort } from './column.js'

export interface RowKey<Row> {
  readonly keys: string
  readonly label: string
  readonly run: (row: Row) => void
}

export interface DataTableProps<Row> {
  /** The accessible name of the table. */
  readonly label: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  readonly keyOf: (row: Row) => string
  readonly nameOf: (row: Row) => string
  readonly rowHeight?: number | undefined
  /** On Enter and on click. */
  readonly onOpen: (row: Row) => void
  readonly sort?: Sort
  readonly onSort?: (sort: Sort) => void
  readonly picked?: ReadonlySet<string>
  readonly onPick?: (picked: ReadonlySet<string>) => void
  /** Further shortcuts for the focused row. */
  readonly rowKeys?: readonly RowKey<Row>[]
  /** New rows are loading: the old ones stay visible, dimmed. */
  readonly isDimmed?: boolean
  /** Replaces the columns on a phone. */
  readonly card: (row: Row) => ReactNode
}
