import { useEffect, useState } from 'react'
import type { Look } from './use-look.js'

/** A slow source should not keep a user from the fields: what is found then arrives below them, late. */
const PATIENCE_MS = 1_500

/** False until the first validation is over: what it finds is shown between the fields, and would move them. */
export function useFirstLook({ isBehind }: Pick<Look, 'isBehind'>): boolean {
  const [isOver, end] = useState(!isBehind)
  useEffect(() => {
    if (isOver) return
    if (!isBehind) return end(true)
    const timer = setTimeout(() => end(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [isBehind, isOver])
  return isOver || !isBehind
}
