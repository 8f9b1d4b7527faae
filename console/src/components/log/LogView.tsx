import { memo, useEffect, useRef } from 'react'
import { useTexts } from '../../i18n/texts.js'
import { useZone } from '../../time/zone.js'
import { shared } from '../texts.js'
import styles from './log.module.css'

export interface LogLine {
  readonly id: number
  readonly at: string
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

interface Props {
  /** Pages as they were read, oldest first. A page does not change once it is full. */
  readonly pages: readonly (readonly LogLine[])[]
  readonly isWrapped: boolean
  /** Stays at the end while lines come. */
  readonly isFollowing: boolean
}

/**
 * Lines in normal flow, not a window over them: selection, the browser's search and copying work on all that is
 * loaded. A page that is out of sight is not laid out (content-visibility), so that 100,000 lines stay quick.
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
  return (
    <div className={styles.page} style={{ containIntrinsicSize: `auto ${lines.length * 19}px` }}>
      {lines.map((line) => (
        <Line key={line.id} line={line} />
      ))}
    </div>
  )
})

function Line({ line: { id, at, level, message, fields } }: { readonly line: LogLine }) {
  const zone = useZone()
  const extra = Object.entries(fields).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return (
    <div className={styles.line} id={`line-${id}`}>
      <time className={styles.at} dateTime={at}>
        {clockOf(at, zone)}
      </time>
      <span className={styles[level as 'info']}>{level.toUpperCase()}</span>
      <span>
        {message} <span className={styles.fields}>{extra.join(' ')}</span>
      </span>
    </div>
  )
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** 13:02:14.120: one formatter for each zone, because making one costs more than a thousand lines. */
function clockOf(at: string, zone: string): string {
  let format = formats.get(zone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      fractionalSecondDigits: 3,
    })
    formats.set(zone, format)
  }
  return format.format(Date.parse(at))
}
