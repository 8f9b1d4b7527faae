import { useShortcut } from '../../keyboard/shortcuts.js'
import type { RowKey } from './table-props.js'

interface Props<Row> {
  readonly rowKey: RowKey<Row>
  /** The one that has the focus. */
  readonly row: Row | null
}

/** A key that does something to a row. Shows nothing. */
export function RowShortcut<Row>({ rowKey: { keys, label, run }, row }: Props<Row>) {
  useShortcut(keys, label, () => row !== null && run(row), row !== null)
  return null
}
