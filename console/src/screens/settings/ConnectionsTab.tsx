import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { connectionsQuery } from '../../api/connections.js'
import type { ConnectionLook } from '../../api/wire.js'
import { Badge } from '../../components/Badge.js'
import { ProblemCard } from '../../components/ProblemCard.js'
import { Skeleton } from '../../components/Skeleton.js'
import { TimeText } from '../../components/TimeText.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { ConnectionCard } from './ConnectionCard.js'
import { connectionsTexts } from './connections-texts.js'
import styles from './settings.module.css'
import { useSettingsPage } from './use-settings-page.js'

export function ConnectionsTab() {
  useSettingsPage('connections')
  const { data, error, isFetching, refetch } = useQuery(connectionsQuery)
  const again = () => void refetch()
  return (
    <>
      {error === null ? null : <ProblemCard error={error} onRetry={again} />}
      {data === undefined ? (
        error === null && <Skeleton lines={8} height={28} />
      ) : (
        <Look look={data} isLooking={isFetching} onAgain={again} />
      )}
    </>
  )
}

interface LookProps {
  readonly look: ConnectionLook
  readonly isLooking: boolean
  readonly onAgain: () => void
}

function Look({ look, isLooking, onAgain }: LookProps) {
  const texts = useTexts(connectionsTexts)
  const { host, pid } = look.looked_by
  return (
    <>
      <div className={styles.head}>
        <Summary look={look} />
        <span className={styles.space} />
        <Button
          variant="default"
          leftSection={<Icon name="retry" size={14} />}
          loading={isLooking}
          onClick={onAgain}
        >
          {texts.again}
        </Button>
      </div>
      <p className={styles.note}>
        {texts.checked} <TimeText at={look.looked_at} /> {texts.lookedBy(host, pid)}. {texts.runnersDiffer}
      </p>
      <div className={styles.list} aria-busy={isLooking}>
        {look.items.map((connection) => (
          <ConnectionCard key={connection.name} connection={connection} />
        ))}
      </div>
    </>
  )
}

/** What is not configured is no fault. */
function Summary({ look: { items } }: { readonly look: ConnectionLook }) {
  const { summary } = useTexts(connectionsTexts)
  const meant = items.filter(({ state }) => state !== 'not_configured')
  const bad = meant.filter(({ state }) => state !== 'reachable').length
  return (
    <div role="status">
      {bad === 0 ? (
        <Badge tone="ok" icon="check">
          {summary.good(meant.length)}
        </Badge>
      ) : (
        <Badge tone="bad" icon="warn">
          {summary.bad(bad, meant.length)}
        </Badge>
      )}
    </div>
  )
}
