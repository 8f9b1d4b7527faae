import { lazy, Suspense } from 'react'
import { Skeleton } from '../layout/Skeleton.js'

const Merge = lazy(() =>
  import('../editor/MergeEditor.js').then(({ MergeEditor }) => ({ default: MergeEditor })),
)

interface Props {
  readonly before: string
  readonly after: string
  readonly language: 'sql' | 'yaml'
  readonly label: string
}

/** Two versions of a text in one view, with deletions and insertions marked. */
export function TextDiff(props: Props) {
  return (
    <Suspense fallback={<Skeleton />}>
      <Merge {...props} />
    </Suspense>
  )
}
