import { useSession } from '../../api/session.js'
import { tokenActions } from '../../api/tokens.js'
import type { Token } from '../../api/wire.js'
import { ConfirmDialog } from '../../components/actions/ConfirmDialog.js'
import { toastDone } from '../../components/actions/toast.js'
import { TimeText } from '../../components/text/TimeText.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './settings.module.css'
import { tokensTexts } from './tokens-texts.js'

interface Props {
  readonly token: Token
  readonly onClose: () => void
}

export function RevokeDialog({ token, onClose }: Props) {
  const texts = useTexts(tokensTexts)
  const { token_id } = useSession()
  const revoke = async () => {
    await tokenActions.revoke(token.id)
    toastDone(texts.didRevoke(token.name))
  }
  return (
    <ConfirmDialog
      title={texts.revokeOf(token.name)}
      action={texts.revocation.revoke}
      isDangerous
      onConfirm={revoke}
      onClose={onClose}
    >
      <div className={styles.stack}>
        <p>{texts.revocation.text(token.name)}</p>
        <p>
          <LastUse token={token} />
        </p>
        {token_id === token.id ? <p className={styles.once}>{texts.revocation.own}</p> : null}
      </div>
    </ConfirmDialog>
  )
}

/** Recent use means that revoking affects a running program. */
function LastUse({ token: { last_used_at: at, last_used_from: from } }: { readonly token: Token }) {
  const texts = useTexts(tokensTexts)
  if (at === null) return texts.revocation.neverUsed
  return (
    <>
      {texts.revocation.lastUsed} <TimeText at={at} as="relative" />
      {from === null ? '' : ` ${texts.from(from)}`}.
    </>
  )
}
