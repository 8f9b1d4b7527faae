import { type RefObject, useState } from 'react'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { tableTexts } from './texts.js'

interface Options<Row> {
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly onOpen: (row: Row) => void
  readonly onToggle: ((row: Row) => void) | null
  /** Scrolls to a row that is not rendered. */
  readonly reveal: (n: number) => void
  readonly body: RefObject<HTMLDivElement | null>
}

/** j and k move, Enter opens, x selects. The focus follows, for screen readers. */
export function useRowKeys<Row>({ rows, keyOf, onOpen, onToggle, reveal, body }: Options<Row>) {
  const texts = useTexts(tableTexts)
  const [active, setActive] = useState<string | null>(null)
  const at = rows.findIndex((row) => keyOf(row) === active)
  const move = (step: number) => {
    const n = Math.min(rows.length - 1, Math.max(0, at + step))
    const row = rows[n]
    if (row === undefined) return
    setActive(keyOf(row))
    reveal(n)
    requestAnimationFrame(() => focusRow(body, keyOf(row), FRAMES))
  }
  const withActive = (use: (row: Row) => void) => () => {
    const row = rows[at]
    if (row !== undefined) use(row)
  }
  useShortcut({ keys: 'j', label: texts.next }, () => move(at < 0 ? 0 : 1))
  useShortcut({ keys: 'k', label: texts.previous }, () => move(-1))
  useShortcut({ keys: 'Enter', label: texts.open, isOn: at >= 0 }, withActive(onOpen))
  useShortcut(
    { keys: 'x', label: texts.pick, isOn: at >= 0 && onToggle !== null },
    withActive(onToggle ?? (() => {})),
  )
  return { active, setActive, row: rows[at] ?? null }
}

/** A row is rendered a frame or two after scrolling to it; on a busy machine after a few more. */
const FRAMES = 20

function focusRow(body: RefObject<HTMLDivElement | null>, key: string, left: number): void {
  const row = body.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(key)}"]`)
  if (row) row.focus()
  else if (left > 0) requestAnimationFrame(() => focusRow(body, key, left - 1))
}
