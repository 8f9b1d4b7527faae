import { useSession } from '../../api/session.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { settingsTexts } from './texts.js'

/** Names a section that the user may not see, with the required role. */
export function NotAllowed({ what }: { readonly what: keyof (typeof settingsTexts)['en']['notAllowed'] }) {
  const { notAllowed } = useTexts(settingsTexts)
  const { needsRole } = useTexts(shared)
  const { role } = useSession()
  return (
    <EmptyState icon="ban" title={notAllowed[what]}>
      {needsRole('admin', role)}
    </EmptyState>
  )
}
