import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import type { RunSearch } from './search.js'

/** The search parameters, and a function that changes some of them without scrolling. */
export function useRunSearch(): [RunSearch, (change: Partial<RunSearch>) => Promise<void>] {
  const search = useSearch({ from: '/runs/$id' })
  const { id } = useParams({ from: '/runs/$id' })
  const navigate = useNavigate()
  const change = (part: Partial<RunSearch>) =>
    navigate({
      to: '/runs/$id',
      params: { id },
      search: (before) => ({ ...before, ...part }) as never,
      replace: true,
      resetScroll: false,
    })
  return [search, change]
}
