import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Icon } from '../../theme/icons.js'

interface Props {
  /** A paginated list. */
  readonly query: {
    readonly hasNextPage: boolean
    readonly isFetchingNextPage: boolean
    fetchNextPage(): Promise<unknown>
  }
  readonly children: ReactNode
}

/** Loads the next page of a list. Not rendered at the end. */
export function OlderButton({ query, children }: Props) {
  if (!query.hasNextPage) return null
  return (
    <div>
      <Button
        variant="default"
        leftSection={<Icon name="down" size={14} />}
        loading={query.isFetchingNextPage}
        onClick={() => void query.fetchNextPage()}
      >
        {children}
      </Button>
    </div>
  )
}
