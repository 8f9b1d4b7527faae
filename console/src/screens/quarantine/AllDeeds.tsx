import { useState } from 'react'
import { ActionButton } from '../../components/ActionButton.js'
import { useTexts } from '../../i18n/texts.js'
import { choiceOf, DiscardDialog, ResultDialog, type Wish } from './dialogs.js'
import styles from './quarantine.module.css'
import { quarantineTexts } from './texts.js'
import { useSettling } from './use-settling.js'

/** All rows that the filter shows, also those beyond the page. */
export function AllDeeds({ wish }: { readonly wish: Wish | null }) {
  const texts = useTexts(quarantineTexts)
  const settler = useSettling(() => {})
  // As it was when the dialog was opened: what comes meanwhile is not given up with the rest.
  const [asked, ask] = useState<Wish | null>(null)
  const result =
    settler.result === null ? null : <ResultDialog settled={settler.result} onClose={settler.forget} />
  if (wish?.kind !== 'all') return result
  return (
    <span className={styles.deeds}>
      <ActionButton needs="operator" icon="retry" onClick={() => void settler.replay(choiceOf(wish))}>
        {texts.replayAll(wish.total)}
      </ActionButton>
      <ActionButton needs="operator" icon="cross" onClick={() => ask(wish)}>
        {texts.discardAll(wish.total)}
      </ActionButton>
      {asked === null ? null : (
        <DiscardDialog
          wish={asked}
          onConfirm={() => settler.discard(choiceOf(asked))}
          onClose={() => ask(null)}
        />
      )}
      {result}
    </span>
  )
}
