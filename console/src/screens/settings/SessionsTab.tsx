import { Group, SegmentedControl } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useMay } from '../../api/session.js'
import { sessionsQuery } from '../../api/sessions.js'
import type { BrowserSession } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { OlderButton } from '../../components/actions/OlderButton.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { useTexts } from '../../i18n/texts.js'
import { EndOthersDialog, EndSessionDialog } from './EndSessionDialog.js'
import { SessionList } from './SessionList.js'
import { sessionsTexts } from './sessions-texts.js'
import styles from './settings.module.css'
import { useSettingsPage } from './use-settings-page.js'

export function SessionsTab() {
  useSettingsPage('sessions')
  const texts = useTexts(sessionsTexts)
  const { of } = useSearch({ from: '/settings/sessions' })
  const isAdmin = useMay('admin')
  const isEveryone = of === 'everyone' && isAdmin
  const query = useInfiniteQuery(sessionsQuery(isEveryone))
  const [ending, end] = useState<BrowserSession | 'others' | null>(null)
  const sessions = query.data?.pages.flatMap(({ items }) => items)
  return (
    <>
      <Group gap={8}>
        {isAdmin ? <WhoseChoice isEveryone={isEveryone} /> : null}
        <span className={styles.space} />
        <ActionButton needs="viewer" icon="ban" onClick={() => end('others')}>
          {texts.endOthers}
        </ActionButton>
      </Group>
      <p className={styles.note}>{texts.intro}</p>
      {query.error === null ? null : <ProblemCard error={query.error} onRetry={() => void query.refetch()} />}
      {sessions === undefined ? (
        query.error === null && <Skeleton lines={4} height={32} />
      ) : sessions.length > 0 ? (
        <SessionList sessions={sessions} onEnd={end} />
      ) : (
        <EmptyState icon="user" title={texts.empty.title}>
          {texts.empty.text}
        </EmptyState>
      )}
      <OlderButton query={query}>{texts.older}</OlderButton>
      {ending === null ? null : ending === 'others' ? (
        <EndOthersDialog isEveryone={isEveryone} onClose={() => end(null)} />
      ) : (
        <EndSessionDialog session={ending} onClose={() => end(null)} />
      )}
    </>
  )
}

function WhoseChoice({ isEveryone }: { readonly isEveryone: boolean }) {
  const texts = useTexts(sessionsTexts)
  const navigate = useNavigate()
  return (
    <SegmentedControl
      aria-label={texts.whose}
      size="xs"
      data={[
        { value: 'mine', label: texts.mine },
        { value: 'everyone', label: texts.everyone },
      ]}
      value={isEveryone ? 'everyone' : 'mine'}
      onChange={(value) =>
        void navigate({
          to: '/settings/sessions',
          search: (value === 'everyone' ? { of: 'everyone' } : {}) as never,
          replace: true,
        })
      }
    />
  )
}
