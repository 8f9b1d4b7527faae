import { Flex } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { useTexts } from '../../i18n/texts.js'
import { choiceOf, DiscardDialog, ResultDialog, type Selection } from './dialogs.js'
import { quarantineTexts } from './texts.js'
import { useSettling } from './use-settling.js'

/** Actions on all rows of the filter, including those that are not loaded. */
export function AllActions({ selection }: { readonly selection: Selection | null }) {
  const texts = useTexts(quarantineTexts)
  const settler = useSettling(() => {})
  // As of when the dialog was opened: rows that arrive later are not discarded.
  const [asked, ask] = useState<Selection | null>(null)
  const result =
    settler.result === null ? null : <ResultDialog settled={settler.result} onClose={settler.forget} />
  if (selection?.kind !== 'all') return result
  return (
    <Flex component="span" gap={8} wrap="wrap">
      <ActionButton needs="operator" icon="retry" onClick={() => void settler.replay(choiceOf(selection))}>
        {texts.replayAll(selection.total)}
      </ActionButton>
      <ActionButton needs="operator" icon="cross" onClick={() => ask(selection)}>
        {texts.discardAll(selection.total)}
      </ActionButton>
      {asked === null ? null : (
        <DiscardDialog
          selection={asked}
          onConfirm={() => settler.discard(choiceOf(asked))}
          onClose={() => ask(null)}
        />
      )}
      {result}
    </Flex>
  )
}
