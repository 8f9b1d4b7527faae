import type { AnyRouter } from '@tanstack/react-router'

let current: AnyRouter | null = null

/** The router imports the screens and they the shell; whoever must lead somewhere without being a link asks here. */
export function router(): AnyRouter {
  if (current === null) throw new Error('there is no router yet')
  return current
}

export function setRouter(made: AnyRouter): void {
  current = made
}
