import type { ReactNode } from 'react'

interface Props {
  readonly label: string
  readonly className?: string | undefined
  readonly children: ReactNode
}

/** A section whose content may scroll. It takes the focus, so that the keyboard can scroll it. */
export function Scrollable({ label, className, children }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section className={className} tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}
