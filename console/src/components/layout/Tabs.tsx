import { useLocation } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import styles from './tabs.module.css'

interface Props {
  readonly label: string
  /** Links; the router marks the current one. */
  readonly children: ReactNode
}

/** Sections of a screen, each with its own address. The current one is always in view. */
export function Tabs({ label, children }: Props) {
  const bar = useRef<HTMLElement>(null)
  const path = useLocation({ select: ({ pathname }) => pathname })
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path is another tab.
  useEffect(() => {
    const present = bar.current?.querySelector('[aria-current=page]')
    present?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [path])
  return (
    <nav ref={bar} className={styles.tabs} aria-label={label}>
      {children}
    </nav>
  )
}
