import { Flex, SimpleGrid } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { notificationActions } from '../../api/notifications.js'
import type { DeadNotification } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { perform } from '../../components/actions/perform.js'
import { RecordTable } from '../../components/layout/RecordTable.js'
import records from '../../components/layout/records.module.css'
import { TimeText } from '../../components/text/TimeText.js'
import { useTexts } from '../../i18n/texts.js'
import { notificationsTexts } from './notifications-texts.js'
import styles from './settings.module.css'

interface Props {
  readonly notifications: readonly DeadNotification[]
}
interface RowProps {
  readonly one: DeadNotification
}

/** Notifications that were given up. */
export function DeadList({ notifications }: Props) {
  const texts = useTexts(notificationsTexts)
  const isPhone = useMediaQuery('(max-width: 719px)', undefined, { getInitialValueInEffect: false }) ?? false
  if (notifications.length === 0) return <p className={styles.note}>{texts.noDead}</p>
  return (
    <>
      <p className={styles.note}>{texts.deadIntro}</p>
      {isPhone ? (
        <SimpleGrid minColWidth="min(100%, 420px)" spacing={14} style={{ alignItems: 'start' }}>
          {notifications.map((one) => (
            <DeadCard key={one.id} one={one} />
          ))}
        </SimpleGrid>
      ) : (
        <RecordTable title={texts.dead} columns={texts.deadColumns}>
          {notifications.map((one) => (
            <DeadRow key={one.id} one={one} />
          ))}
        </RecordTable>
      )}
    </>
  )
}

function DeadRow({ one }: RowProps) {
  return (
    <tr>
      <td>
        <EventCell one={one} />
      </td>
      <td>{one.pipelines.join(', ')}</td>
      <td>{one.channel}</td>
      <td className={styles.value}>{one.error}</td>
      <td>
        <TimeText at={one.died_at} as="relative" />
      </td>
      <td>
        <DeadButtons one={one} />
      </td>
    </tr>
  )
}

function EventCell({ one }: RowProps) {
  const texts = useTexts(notificationsTexts)
  return (
    <div className={records.two}>
      <span className={records.name}>{texts.events[one.event] ?? one.event}</span>
      {one.code === null ? null : <code>{one.code}</code>}
      <span className={records.soft}>
        {texts.manyEvents(one.events)}, {texts.attempts(one.attempts)}
      </span>
    </div>
  )
}

function DeadCard({ one }: RowProps) {
  const texts = useTexts(notificationsTexts)
  return (
    <Flex component="article" className={styles.card} direction="column" gap={12}>
      <EventCell one={one} />
      <dl className={styles.facts}>
        <div>
          <dt>{texts.deadColumns.pipelines}</dt>
          <dd>{one.pipelines.join(', ')}</dd>
        </div>
        <div>
          <dt>{texts.deadColumns.channel}</dt>
          <dd>{one.channel}</dd>
        </div>
      </dl>
      <p className={styles.note}>{one.error}</p>
      <DeadButtons one={one} />
    </Flex>
  )
}

function DeadButtons({ one }: RowProps) {
  const texts = useTexts(notificationsTexts)
  const what = one.pipelines.join(', ')
  const settle = (as: 'retry' | 'discard') =>
    void perform(() => notificationActions[as](one.id), {
      done: as === 'retry' ? texts.didRetry : texts.didDiscard,
      failed: texts.failedToSettle,
    })
  return (
    <Flex gap={6} wrap="wrap" justify="flex-end">
      <ActionButton
        needs="operator"
        icon="retry"
        size="compact-sm"
        aria-label={texts.retryOf(what)}
        onClick={() => settle('retry')}
      >
        {texts.retry}
      </ActionButton>
      <ActionButton
        needs="operator"
        size="compact-sm"
        aria-label={texts.discardOf(what)}
        onClick={() => settle('discard')}
      >
        {texts.discard}
      </ActionButton>
    </Flex>
  )
}
