import { lazy, Suspense, useState } from 'react'
import type { PipelinesSearch } from './search.js'
import { useChosenView, ViewsButton } from './ViewsButton.js'

const ViewsMenu = lazy(() => import('./ViewsMenu.js').then((module) => ({ default: module.ViewsMenu })))

/** The menu is loaded when it is first opened: the first load is at its size limit. */
export function Views({ search }: { readonly search: PipelinesSearch }) {
  const [isWanted, want] = useState(false)
  const { chosen } = useChosenView(search)
  const button = <ViewsButton name={chosen?.name ?? null} onClick={() => want(true)} />
  if (!isWanted) return button
  return (
    <Suspense fallback={button}>
      <ViewsMenu search={search} />
    </Suspense>
  )
}
