import { Tooltip } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import styles from './tip.module.css'

interface Props {
  /** Null: no tooltip. */
  readonly label: ReactNode
  readonly children: ReactNode
}

const TIMEOUT_MS = 250

/** A tooltip that costs nothing until the pointer is over it: lists have hundreds. Escape hides it. */
export function Tip({ label, children }: Props) {
  const target = useRef<HTMLSpanElement>(null)
  const [isPointed, point] = useState(false)
  const [isOpen, open] = useState(false)
  useEffect(() => {
    if (!isPointed) return open(false)
    const timer = setTimeout(() => open(true), TIMEOUT_MS)
    const hide = ({ key }: KeyboardEvent) => key === 'Escape' && point(false)
    window.addEventListener('keydown', hide)
    return () => {
      clearTimeout(timer)
      window.removeEventListener('keydown', hide)
    }
  }, [isPointed])
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only observes; the content is interactive.
    <span
      ref={target}
      className={styles.tip}
      onPointerEnter={() => point(true)}
      onPointerLeave={() => point(false)}
      onFocus={() => point(true)}
      onBlur={() => point(false)}
    >
      {children}
      {isOpen && label !== null ? (
        <Tooltip opened label={label} target={target} multiline maw={320} className={styles.label} />
      ) : null}
    </span>
  )
}
