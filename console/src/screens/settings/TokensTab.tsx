import { Button, Group } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useMay } from '../../api/session.js'
import { type NewToken, tokensQuery } from '../../api/tokens.js'
import type { Token } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { OlderButton } from '../../components/actions/OlderButton.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { Badge } from '../../components/status/Badge.js'
import { hasEnded, tokenStateOf } from '../../facts/tokens.js'
import { useTexts } from '../../i18n/texts.js'
import { serverNow } from '../../time/clock.js'
import { CreateTokenDialog } from './CreateTokenDialog.js'
import { NotAllowed } from './NotAllowed.js'
import { RevokeDialog } from './RevokeDialog.js'
import { RotateDialog } from './RotateDialog.js'
import styles from './settings.module.css'
import { TokenList } from './TokenList.js'
import { TokenValueDialog } from './TokenValueDialog.js'
import { tokensTexts } from './tokens-texts.js'
import { useSettingsPage } from './use-settings-page.js'

/** The open dialog and its token. */
type Action =
  | { readonly kind: 'create' }
  | { readonly kind: 'rotate' | 'revoke'; readonly token: Token }
  | { readonly kind: 'value'; readonly made: NewToken }

export function TokensTab() {
  useSettingsPage('tokens')
  return useMay('admin') ? <Tokens /> : <NotAllowed what="tokens" />
}

function Tokens() {
  const texts = useTexts(tokensTexts)
  const query = useInfiniteQuery(tokensQuery)
  const [action, begin] = useState<Action | null>(null)
  const tokens = query.data?.pages.flatMap(({ items }) => items)
  // A dialog closes itself after its action; a new value that is shown in its place stays open.
  const end = () => begin((now) => (now?.kind === 'value' ? now : null))
  return (
    <>
      <Group gap={8}>
        {tokens === undefined ? null : <Ending tokens={tokens} />}
        <span className={styles.space} />
        <ActionButton needs="admin" icon="plus" variant="filled" onClick={() => begin({ kind: 'create' })}>
          {texts.create}
        </ActionButton>
      </Group>
      <p className={styles.note}>{texts.intro}</p>
      {query.error === null ? null : <ProblemCard error={query.error} onRetry={() => void query.refetch()} />}
      {tokens === undefined ? (
        query.error === null && <Skeleton lines={6} height={32} />
      ) : (
        <Listed
          tokens={tokens}
          onRotate={(token) => begin({ kind: 'rotate', token })}
          onRevoke={(token) => begin({ kind: 'revoke', token })}
        />
      )}
      <OlderButton query={query}>{texts.older}</OlderButton>
      {action === null ? null : (
        <Dialog
          action={action}
          onMade={(made) => begin({ kind: 'value', made })}
          onStored={() => begin(null)}
          onClose={end}
        />
      )}
    </>
  )
}

interface DialogProps {
  readonly action: Action
  readonly onMade: (made: NewToken) => void
  readonly onStored: () => void
  readonly onClose: () => void
}

function Dialog({ action, onStored, ...rest }: DialogProps) {
  if (action.kind === 'create') return <CreateTokenDialog {...rest} />
  if (action.kind === 'value') return <TokenValueDialog made={action.made} onClose={onStored} />
  if (action.kind === 'rotate') return <RotateDialog token={action.token} {...rest} />
  return <RevokeDialog token={action.token} onClose={rest.onClose} />
}

function Ending({ tokens }: { readonly tokens: readonly Token[] }) {
  const texts = useTexts(tokensTexts)
  const soon = tokens.filter((token) => tokenStateOf(token, serverNow()) === 'ending').length
  if (soon === 0) return null
  return (
    <div role="status">
      <Badge tone="warn" icon="clock">
        {texts.endingSoon(soon)}
      </Badge>
    </div>
  )
}

interface ListedProps {
  readonly tokens: readonly Token[]
  readonly onRotate: (token: Token) => void
  readonly onRevoke: (token: Token) => void
}

function Listed({ tokens, ...actions }: ListedProps) {
  const texts = useTexts(tokensTexts)
  const { ended } = useSearch({ from: '/settings/tokens' })
  const gone = tokens.filter((token) => hasEnded(tokenStateOf(token, serverNow())))
  const shown = ended === '1' ? tokens : tokens.filter((token) => !gone.includes(token))
  return (
    <>
      {shown.length > 0 ? (
        <TokenList tokens={shown} {...actions} />
      ) : (
        <EmptyState icon="user" title={texts.empty.title}>
          {texts.empty.text}
        </EmptyState>
      )}
      {gone.length === 0 ? null : (
        <div>
          <Button
            component={Link}
            variant="default"
            to="/settings/tokens"
            search={(ended === '1' ? {} : { ended: '1' }) as never}
          >
            {ended === '1' ? texts.hideEnded : texts.showEnded(gone.length)}
          </Button>
        </div>
      )}
    </>
  )
}
