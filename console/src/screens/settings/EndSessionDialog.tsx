import { signOut } from '../../api/session.js'
import { sessionActions } from '../../api/sessions.js'
import type { BrowserSession } from '../../api/wire.js'
import { ConfirmDialog } from '../../components/actions/ConfirmDialog.js'
import { toastDone } from '../../components/actions/toast.js'
import { browserName } from '../../facts/browser-name.js'
import { useTexts } from '../../i18n/texts.js'
import { sessionsTexts } from './sessions-texts.js'
import styles from './settings.module.css'

interface Props {
  readonly session: BrowserSession
  readonly onClose: () => void
}

export function EndSessionDialog({ session, onClose }: Props) {
  const texts = useTexts(sessionsTexts)
  const end = async () => {
    if (session.current) return signOut()
    await sessionActions.end(session.id)
    toastDone(texts.didEnd)
  }
  return (
    <ConfirmDialog
      title={texts.endOf(browserName(session.user_agent) ?? texts.unknown)}
      action={texts.ending.end}
      isDangerous
      onConfirm={end}
      onClose={onClose}
    >
      <div className={styles.stack}>
        <p>{texts.ending.text}</p>
        {session.current ? <p className={styles.once}>{texts.ending.own}</p> : null}
      </div>
    </ConfirmDialog>
  )
}

interface OthersProps {
  readonly isEveryone: boolean
  readonly onClose: () => void
}

export function EndOthersDialog({ isEveryone, onClose }: OthersProps) {
  const texts = useTexts(sessionsTexts)
  const end = async () => {
    const ended = await sessionActions.endOthers(isEveryone)
    toastDone(texts.didEndOthers(ended))
  }
  return (
    <ConfirmDialog
      title={texts.endOthers}
      action={texts.ending.endAll}
      isDangerous
      onConfirm={end}
      onClose={onClose}
    >
      <p>{isEveryone ? texts.ending.othersOfAll : texts.ending.othersOfMine}</p>
    </ConfirmDialog>
  )
}
