import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Icon } from '../theme/icons.js'

interface Props {
  /** A list that is read page by page. */
  readonly query: {
    readonly hasNextPage: boolean
    readonly isFetchingNextPage: boolean
    fetchNextPage(): Promise<unknown>
  }
  readonly children: ReactNode
}

/** Below a list: reads its next page. Nothing at the end of the list. */
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
