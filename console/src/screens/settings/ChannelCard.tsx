import { Flex } from '@mantine/core'
import { useState } from 'react'
import { notificationActions } from '../../api/notifications.js'
import type { NotificationChannel, NotificationTest } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { toastProblem } from '../../components/actions/toast.js'
import { Badge, type Tone } from '../../components/status/Badge.js'
import { TimeText } from '../../components/text/TimeText.js'
import { useTexts } from '../../i18n/texts.js'
import type { IconName } from '../../theme/icons.js'
import { CardHead } from './CardHead.js'
import { notificationsTexts } from './notifications-texts.js'
import styles from './settings.module.css'

const LOOKS: Readonly<Record<State, { readonly tone: Tone; readonly icon: IconName }>> = {
  ok: { tone: 'ok', icon: 'check' },
  never: { tone: 'rest', icon: 'dash' },
  failing: { tone: 'bad', icon: 'warn' },
  gone: { tone: 'warn', icon: 'warn' },
}
type State = 'ok' | 'never' | 'failing' | 'gone'

/** By the newest attempt: a channel that delivers again is not failing any more. */
function stateOf({ type, last_sent_at: sent, last_error_at: failed }: NotificationChannel): State {
  if (type === null) return 'gone'
  if (failed !== null && (sent === null || sent < failed)) return 'failing'
  return sent === null ? 'never' : 'ok'
}

interface Props {
  readonly channel: NotificationChannel
}

export function ChannelCard({ channel }: Props) {
  const texts = useTexts(notificationsTexts)
  const [outcome, setOutcome] = useState<NotificationTest | null>(null)
  const [isBusy, setBusy] = useState(false)
  const state = stateOf(channel)
  const test = async () => {
    setBusy(true)
    try {
      setOutcome(await notificationActions.test(channel.name))
    } catch (error) {
      toastProblem(texts.testFailed, error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Flex component="article" className={styles.card} direction="column" gap={12} aria-label={channel.name}>
      <CardHead>
        <h3 className={styles.cardTitle}>{channel.name}</h3>
        <Badge tone={LOOKS[state].tone} icon={LOOKS[state].icon}>
          {texts.state[state]}
        </Badge>
      </CardHead>
      <ChannelFacts channel={channel} />
      {outcome === null ? null : <Outcome outcome={outcome} />}
      <Flex gap={6} wrap="wrap" justify="flex-end">
        <ActionButton
          needs="operator"
          refusal={
            channel.type === null
              ? texts.notConfigured
              : channel.type === 'openlineage'
                ? texts.runsOnly
                : null
          }
          loading={isBusy}
          size="compact-sm"
          aria-label={texts.testOf(channel.name)}
          onClick={() => void test()}
        >
          {texts.test}
        </ActionButton>
      </Flex>
    </Flex>
  )
}

function ChannelFacts({ channel }: Props) {
  const texts = useTexts(notificationsTexts)
  const { type, host, last_sent_at: sent, last_error: error, last_error_at: failed } = channel
  return (
    <dl className={styles.facts}>
      <div>
        <dt>{type === null ? texts.notConfigured : texts.types[type]}</dt>
        <dd>{host ?? '–'}</dd>
      </div>
      <div>
        <dt>{texts.waiting}</dt>
        <dd>{channel.pending}</dd>
      </div>
      <div>
        <dt>{texts.lastSent}</dt>
        <dd>{sent === null ? texts.never : <TimeText at={sent} as="relative" />}</dd>
      </div>
      <div>
        <dt>{texts.lastError}</dt>
        <dd>
          {failed === null ? (
            texts.never
          ) : (
            <>
              <TimeText at={failed} as="relative" /> {error}
            </>
          )}
        </dd>
      </div>
    </dl>
  )
}

function Outcome({ outcome }: { readonly outcome: NotificationTest }) {
  const texts = useTexts(notificationsTexts)
  return (
    <div role="status" className={outcome.delivered ? styles.success : styles.failure}>
      <p>{outcome.delivered ? texts.delivered : texts.notDelivered}</p>
      <p>{outcome.detail}</p>
      {outcome.hint === null ? null : <p>{outcome.hint}</p>}
    </div>
  )
}
