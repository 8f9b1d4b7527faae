import { useEffect, useState } from 'react'
import type { Inspection } from './use-inspection.js'

/**
 * False until the first validation is complete: its findings appear above and between the fields and would move them.
 * At most for `timeoutMs`: a slow source should not hide fields that are available.
 */
export function useFirstInspection(
  { isBehind }: Pick<Inspection, 'isBehind'>,
  timeoutMs: number | null,
): boolean {
  const [isOver, end] = useState(!isBehind)
  useEffect(() => {
    if (isOver) return
    if (!isBehind) return end(true)
    if (timeoutMs === null) return
    const timer = setTimeout(() => end(true), timeoutMs)
    return () => clearTimeout(timer)
  }, [isBehind, isOver, timeoutMs])
  return isOver || !isBehind
}
