import { memo, useEffect, useLayoutEffect, useRef } from 'react'
import { useTexts } from '../../i18n/texts.js'
import { useZone } from '../../time/zone.js'
import { shared } from '../texts.js'
import styles from './log.module.css'
import { fillPage, type LogLine } from './log-lines.js'

interface Props {
  /** Pages as they were read, oldest first. A page does not change once it is full. */
  readonly pages: readonly (readonly LogLine[])[]
  readonly isWrapped: boolean
  /** Stays at the end while lines come. */
  readonly isFollowing: boolean
}

/**
 * Lines in normal flow, not a window over them: selection, the browser's search and copying work on all that is
 * loaded. What is out of sight is not laid out (content-visibility), so that 100,000 lines stay quick.
 */
export function LogView({ pages, isWrapped, isFollowing }: Props) {
  const texts = useTexts(shared)
  const box = useRef<HTMLDivElement>(null)
  const count = pages.reduce((sum, page) => sum + page.length, 0)
  useEffect(() => {
    if (isFollowing && count > 0) box.current?.scrollTo({ top: box.current.scrollHeight })
  }, [isFollowing, count])
  if (count === 0) return <p className="v-soft">{texts.logEmpty}</p>
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
