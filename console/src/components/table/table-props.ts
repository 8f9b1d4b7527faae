import type { ReactNode } from 'react'
import type { Column, Sort } from './column.js'

export interface RowKey<Row> {
  readonly keys: string
  readonly label: string
  readonly run: (row: Row) => void
}

export interface DataTableProps<Row> {
  /** What the table is, for whoever does not see it. */
  readonly label: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  readonly keyOf: (row: Row) => string
  readonly nameOf: (row: Row) => string
  readonly rowHeight?: number | undefined
  /** Enter, and a click. */
  readonly onOpen: (row: Row) => void
  readonly sort?: Sort
  readonly onSort?: (sort: Sort) => void
  readonly picked?: ReadonlySet<string>
  readonly onPick?: (picked: ReadonlySet<string>) => void
  /** Further keys that do something to the row that has the focus. */
  readonly rowKeys?: readonly RowKey<Row>[]
  /** New rows are on their way: the old ones stay, and are seen to be old. */
  readonly isDimmed?: boolean
  /** In place of the columns on a phone. */
  readonly card: (row: Row) => ReactNode
}
