import type { AnyRouter } from '@tanstack/react-router'

let current: AnyRouter | null = null

/** For navigation outside of components. The router imports the screens and they the shell, so nothing else may import it. */
export function router(): AnyRouter {
  if (current === null) throw new Error('there is no router yet')
  return current
}

export function setRouter(made: AnyRouter): void {
  current = made
}
