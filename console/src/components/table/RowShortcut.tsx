import { useShortcut } from '../../keyboard/shortcuts.js'
import type { RowKey } from './table-props.js'

interface Props<Row> {
  readonly rowKey: RowKey<Row>
  /** The focused row. */
  readonly row: Row | null
}

/** A shortcut for the focused row. Renders nothing. */
export function RowShortcut<Row>({ rowKey: { keys, label, run }, row }: Props<Row>) {
  useShortcut({ keys, label, isOn: row !== null }, () => row !== null && run(row))
  return null
}
