import { useLocation } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import styles from './tabs.module.css'

interface Props {
  readonly label: string
  /** Links; the router says which one is the present page. */
  readonly children: ReactNode
}

/** Parts of a screen, each with an address. The present one is in sight, also where not all of them fit. */
export function Tabs({ label, children }: Props) {
  const bar = useRef<HTMLElement>(null)
  const path = useLocation({ select: ({ pathname }) => pathname })
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path has another tab.
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
