import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { Page } from './Page.js'

interface Props {
  readonly title: string
  /** Null: still loading. */
  readonly error: unknown
  readonly onRetry: () => unknown
  readonly lines: number
  readonly height: number
}

/** Shown until the data of a page is loaded: a skeleton, or the problem. */
export function WaitingPage({ title, error, onRetry, lines, height }: Props) {
  return (
    <Page>
      <h1 className="v-heard-only">{title}</h1>
      {error === null ? (
        <Skeleton lines={lines} height={height} />
      ) : (
        <ProblemCard error={error} onRetry={() => void onRetry()} />
      )}
    </Page>
  )
}
