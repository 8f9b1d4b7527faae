import { useEffect, useState } from 'react'
import type { Look } from './use-look.js'

/**
 * False until the first validation is over: what it finds is shown above and between the fields, and would move them.
 * With `patienceMs` only for so long: a slow source should not keep a user from fields that are there already.
 */
export function useFirstLook({ isBehind }: Pick<Look, 'isBehind'>, patienceMs: number | null): boolean {
  const [isOver, end] = useState(!isBehind)
  useEffect(() => {
    if (isOver) return
    if (!isBehind) return end(true)
    if (patienceMs === null) return
    const timer = setTimeout(() => end(true), patienceMs)
    return () => clearTimeout(timer)
  }, [isBehind, isOver, patienceMs])
  return isOver || !isBehind
}
