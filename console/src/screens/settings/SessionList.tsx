import { Flex, SimpleGrid } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import type { BrowserSession } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { RecordTable } from '../../components/layout/RecordTable.js'
import records from '../../components/layout/records.module.css'
import { Badge } from '../../components/status/Badge.js'
import { TimeText } from '../../components/text/TimeText.js'
import { browserName } from '../../facts/browser-name.js'
import { useTexts } from '../../i18n/texts.js'
import { CardHead } from './CardHead.js'
import { sessionsTexts } from './sessions-texts.js'
import styles from './settings.module.css'

interface RowProps {
  readonly session: BrowserSession
  readonly onEnd: (session: BrowserSession) => void
}

interface Props {
  readonly sessions: readonly BrowserSession[]
  readonly onEnd: (session: BrowserSession) => void
}

export function SessionList({ sessions, onEnd }: Props) {
  const { title, columns } = useTexts(sessionsTexts)
  const isPhone = useMediaQuery('(max-width: 719px)', undefined, { getInitialValueInEffect: false }) ?? false
  if (isPhone)
    return (
      <SimpleGrid minColWidth="min(100%, 420px)" spacing={14} style={{ alignItems: 'start' }}>
        {sessions.map((session) => (
          <SessionCard key={session.id} session={session} onEnd={onEnd} />
        ))}
      </SimpleGrid>
    )
  return (
    <RecordTable title={title} columns={columns}>
      {sessions.map((session) => (
        <SessionRow key={session.id} session={session} onEnd={onEnd} />
      ))}
    </RecordTable>
  )
}

function SessionRow({ session, onEnd }: RowProps) {
  return (
    <tr>
      <td>
        <BrowserCell session={session} />
      </td>
      <td>
        <div className={records.two}>
          <span>{session.name}</span>
          <span className={records.soft}>{session.role}</span>
        </div>
      </td>
      <td>
        <TimeText at={session.created_at} as="short" />
      </td>
      <td>
        <TimeText at={session.last_used_at} as="relative" />
      </td>
      <td>
        <TimeText at={session.expires_at} as="relative" />
      </td>
      <td>
        <EndButton session={session} onEnd={onEnd} />
      </td>
    </tr>
  )
}

function BrowserCell({ session }: { readonly session: BrowserSession }) {
  const texts = useTexts(sessionsTexts)
  return (
    <div className={records.two}>
      <span className={records.name} title={session.user_agent ?? undefined}>
        {browserName(session.user_agent) ?? texts.unknown}
      </span>
      {session.opened_from === null ? null : (
        <span className={records.soft}>{texts.from(session.opened_from)}</span>
      )}
      {session.started_from === null ? null : <span className={records.soft}>{texts.byCode}</span>}
      {session.current ? (
        <Badge tone="ok" icon="check">
          {texts.current}
        </Badge>
      ) : null}
    </div>
  )
}

function EndButton({ session, onEnd }: RowProps) {
  const texts = useTexts(sessionsTexts)
  return (
    <Flex gap={6} wrap="wrap" justify="flex-end">
      <ActionButton
        needs="viewer"
        icon="ban"
        size="compact-sm"
        aria-label={texts.endOf(browserName(session.user_agent) ?? texts.unknown)}
        onClick={() => onEnd(session)}
      >
        {texts.end}
      </ActionButton>
    </Flex>
  )
}

function SessionCard({ session, onEnd }: RowProps) {
  const { columns } = useTexts(sessionsTexts)
  return (
    <Flex component="article" className={styles.card} direction="column" gap={12}>
      <CardHead>
        <BrowserCell session={session} />
        <span>{session.name}</span>
      </CardHead>
      <dl className={styles.facts}>
        <div>
          <dt>{columns.lastUsed}</dt>
          <dd>
            <TimeText at={session.last_used_at} as="relative" />
          </dd>
        </div>
        <div>
          <dt>{columns.expires}</dt>
          <dd>
            <TimeText at={session.expires_at} as="relative" />
          </dd>
        </div>
      </dl>
      <EndButton session={session} onEnd={onEnd} />
    </Flex>
  )
}
