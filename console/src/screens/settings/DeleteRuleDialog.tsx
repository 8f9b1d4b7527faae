import { notificationActions } from '../../api/notifications.js'
import type { NotificationRule } from '../../api/wire.js'
import { ConfirmDialog } from '../../components/actions/ConfirmDialog.js'
import { toastDone } from '../../components/actions/toast.js'
import { useTexts } from '../../i18n/texts.js'
import { notificationsTexts } from './notifications-texts.js'

interface Props {
  readonly rule: NotificationRule
  readonly onClose: () => void
}

export function DeleteRuleDialog({ rule, onClose }: Props) {
  const texts = useTexts(notificationsTexts)
  const remove = async () => {
    await notificationActions.delete(rule.id)
    toastDone(texts.didDelete(rule.name))
  }
  return (
    <ConfirmDialog
      title={texts.removeOf(rule.name)}
      action={texts.remove}
      isDangerous
      onConfirm={remove}
      onClose={onClose}
    >
      <p>{texts.removeText}</p>
    </ConfirmDialog>
  )
}
