import { memo, type RefObject, useEffect, useEffectEvent, useLayoutEffect, useRef } from 'react'
import { useZone } from '../../time/zone.js'
import styles from './log.module.css'
import { fillPage, lineId, toggleFacts, type ViewedLine } from './log-lines.js'

interface Props {
  /** Loaded pages, oldest first; at least one line. A full page does not change. */
  readonly pages: readonly (readonly ViewedLine[])[]
  readonly isWrapped: boolean
  /** Stays at the end while lines arrive. */
  readonly isFollowing: boolean
  /** The line in the address. */
  readonly chosen: number | undefined
  readonly onChoose: (id: number) => void
}

/**
 * Lines in normal flow, not virtualized: selection, the browser's search and copying work on all loaded lines. Lines out
 * of view are not laid out (content-visibility), so that 100,000 lines stay fast.
 */
export function LogView({ pages, isWrapped, isFollowing, chosen, onChoose }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const count = pages.reduce((sum, page) => sum + page.length, 0)
  useEffect(() => {
    if (isFollowing && count > 0) box.current?.scrollTo({ top: box.current.scrollHeight })
  }, [isFollowing, count])
  useChosen(box, chosen, count)
  useClicks(box, pages, onChoose)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <div ref={box} className={`${styles.log} ${isWrapped ? styles.wrapped : ''}`} role="log" tabIndex={0}>
      {pages.map((lines) => (
        <LogPage key={lines[0]?.id ?? 'empty'} lines={lines} />
      ))}
    </div>
  )
}

/** New lines render the last page only. */
const LogPage = memo(function LogPage({ lines }: { readonly lines: readonly ViewedLine[] }) {
  const page = useRef<HTMLDivElement>(null)
  const zone = useZone()
  useLayoutEffect(() => {
    if (page.current !== null) fillPage(page.current, lines, zone)
  }, [lines, zone])
  return <div ref={page} />
})

type Box = RefObject<HTMLElement | null>

/** Marks the selected line, and scrolls to it once. */
function useChosen(box: Box, chosen: number | undefined, count: number): void {
  const zone = useZone()
  const seen = useRef<number>(undefined)
  // biome-ignore lint/correctness/useExhaustiveDependencies: more lines or another time zone recreate the elements.
  useEffect(() => {
    if (chosen === undefined) return
    const line = box.current?.querySelector<HTMLElement>(`#${lineId(chosen)}`)
    if (line === null || line === undefined) return
    line.dataset.chosen = ''
    if (seen.current !== chosen) line.scrollIntoView({ block: 'nearest' })
    seen.current = chosen
    return () => void delete line.dataset.chosen
  }, [box, chosen, count, zone])
}

/** One listener for all lines: they are not components, and there may be 100,000. */
function useClicks(box: Box, pages: Props['pages'], onChoose: Props['onChoose']): void {
  const click = useEffectEvent((event: MouseEvent) => {
    const target = event.target as HTMLElement
    const { line, facts } = target.dataset
    if (facts !== undefined) {
      const found = pages.flat().find(({ id }) => id === Number(facts))
      if (found !== undefined) toggleFacts(target, found)
    }
    // With a modifier key, the browser handles it: new tab, download.
    if (line === undefined || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    onChoose(Number(line))
  })
  useEffect(() => {
    const element = box.current
    element?.addEventListener('click', click)
    return () => element?.removeEventListener('click', click)
  }, [box])
}
