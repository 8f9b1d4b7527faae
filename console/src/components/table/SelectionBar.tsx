import { Button, Flex } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTexts } from '../../i18n/texts.js'
import list from '../layout/list.module.css'
import { shared } from '../texts.js'

interface Props {
  readonly count: number
  readonly onClear: () => void
  /** What can be done with the selected rows. */
  readonly children: ReactNode
}

/** Actions for the selected rows of a list, shown while any is selected. */
export function SelectionBar({ count, onClear, children }: Props) {
  const texts = useTexts(shared)
  if (count === 0) return null
  return (
    <Flex
      component="section"
      className={list.picked}
      gap={8}
      align="center"
      wrap="wrap"
      aria-label={texts.selected(count)}
    >
      <strong>{texts.selected(count)}</strong>
      {children}
      <Button variant="subtle" color="gray" onClick={onClear}>
        {texts.clearSelection}
      </Button>
    </Flex>
  )
}
