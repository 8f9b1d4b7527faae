import { Button, Group, SimpleGrid } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { connectionsQuery } from '../../api/connections.js'
import type { ConnectionCheck } from '../../api/wire.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { Badge } from '../../components/status/Badge.js'
import { TimeText } from '../../components/text/TimeText.js'
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
        <CheckResult check={data} isChecking={isFetching} onAgain={again} />
      )}
    </>
  )
}

interface CheckProps {
  readonly check: ConnectionCheck
  readonly isChecking: boolean
  readonly onAgain: () => void
}

function CheckResult({ check, isChecking, onAgain }: CheckProps) {
  const texts = useTexts(connectionsTexts)
  const { host, pid } = check.looked_by
  return (
    <>
      <Group gap={8}>
        <Summary check={check} />
        <span className={styles.space} />
        <Button
          variant="default"
          leftSection={<Icon name="retry" size={14} />}
          loading={isChecking}
          onClick={onAgain}
        >
          {texts.again}
        </Button>
      </Group>
      <p className={styles.note}>
        {texts.checked} <TimeText at={check.looked_at} /> {texts.checkedBy(host, pid)}. {texts.runnersDiffer}
      </p>
      <SimpleGrid
        minColWidth="min(100%, 420px)"
        spacing={14}
        style={{ alignItems: 'start' }}
        aria-busy={isChecking}
      >
        {check.items.map((connection) => (
          <ConnectionCard key={connection.name} connection={connection} />
        ))}
      </SimpleGrid>
    </>
  )
}

/** Connections that are not configured do not count as failures. */
function Summary({ check: { items } }: { readonly check: ConnectionCheck }) {
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
