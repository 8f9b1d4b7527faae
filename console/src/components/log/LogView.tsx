import { memo, type RefObject, useEffect, useEffectEvent, useLayoutEffect, useRef } from 'react'
import { useZone } from '../../time/zone.js'
import styles from './log.module.css'
import { fillPage, type LogLine, lineId, toggleFacts } from './log-lines.js'

interface Props {
  /** Pages as they were read, oldest first; at least one line. A page does not change once it is full. */
  readonly pages: readonly (readonly LogLine[])[]
  readonly isWrapped: boolean
  /** Stays at the end while lines come. */
  readonly isFollowing: boolean
  /** The line that the address names. */
  readonly chosen: number | undefined
  readonly onChoose: (id: number) => void
}

/**
 * Lines in normal flow, not a window over them: selection, the browser's search and copying work on all that is
 * loaded. What is out of sight is not laid out (content-visibility), so that 100,000 lines stay quick.
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
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <div ref={box} className={`${styles.log} ${isWrapped ? styles.wrapped : ''}`} role="log" tabIndex={0}>
      {pages.map((lines) => (
        <LogPage key={lines[0]?.id ?? 'empty'} lines={lines} />
      ))}
    </div>
  )
}

/** New lines draw the last page again, not the ninety-nine before it. */
const LogPage = memo(function LogPage({ lines }: { readonly lines: readonly LogLine[] }) {
  const page = useRef<HTMLDivElement>(null)
  const zone = useZone()
  useLayoutEffect(() => {
    if (page.current !== null) fillPage(page.current, lines, zone)
  }, [lines, zone])
  return <div ref={page} />
})

type Box = RefObject<HTMLElement | null>

/** Marks the line that was chosen, and brings it into sight once. */
function useChosen(box: Box, chosen: number | undefined, count: number): void {
  const zone = useZone()
  const seen = useRef<number>(undefined)
  // biome-ignore lint/correctness/useExhaustiveDependencies: more lines, or another zone, make the elements anew.
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

/** One listener for all lines: they are no components, and may be a hundred thousand. */
function useClicks(box: Box, pages: Props['pages'], onChoose: Props['onChoose']): void {
  const click = useEffectEvent((event: MouseEvent) => {
    const target = event.target as HTMLElement
    const { line, facts } = target.dataset
    if (facts !== undefined) {
      const found = pages.flat().find(({ id }) => id === Number(facts))
      if (found !== undefined) toggleFacts(target, found)
    }
    // With a key pressed it is the browser's: another tab, a download.
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
