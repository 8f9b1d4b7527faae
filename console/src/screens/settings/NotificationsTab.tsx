import { Group, SimpleGrid } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { channelsQuery, deadQuery, rulesQuery } from '../../api/notifications.js'
import type { NotificationRule } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { OlderButton } from '../../components/actions/OlderButton.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { useTexts } from '../../i18n/texts.js'
import { ChannelCard } from './ChannelCard.js'
import { DeadList } from './DeadList.js'
import { DeleteRuleDialog } from './DeleteRuleDialog.js'
import { notificationsTexts } from './notifications-texts.js'
import { RuleDialog } from './RuleDialog.js'
import { RuleList } from './RuleList.js'
import styles from './settings.module.css'
import { useSettingsPage } from './use-settings-page.js'

type Action =
  | { readonly kind: 'edit'; readonly rule: NotificationRule | null }
  | { readonly kind: 'delete'; readonly rule: NotificationRule }

export function NotificationsTab() {
  useSettingsPage('notifications')
  const texts = useTexts(notificationsTexts)
  const rules = useQuery(rulesQuery)
  const channels = useQuery(channelsQuery)
  const dead = useInfiniteQuery(deadQuery)
  const [action, begin] = useState<Action | null>(null)
  const failed = [rules, channels, dead].find(({ error }) => error !== null)
  // Together: three lists that arrive one after another would push each other down.
  const isLoaded = rules.data !== undefined && channels.data !== undefined && dead.data !== undefined
  return (
    <>
      <Group gap={8}>
        <span className={styles.space} />
        <ActionButton
          needs="admin"
          icon="plus"
          variant="filled"
          onClick={() => begin({ kind: 'edit', rule: null })}
        >
          {texts.create}
        </ActionButton>
      </Group>
      <p className={styles.note}>{texts.intro}</p>
      {failed === undefined ? null : (
        <ProblemCard error={failed.error} onRetry={() => void failed.refetch()} />
      )}
      {isLoaded ? (
        <>
          <section className={styles.stack} aria-label={texts.rules}>
            <h2 className={styles.title}>{texts.rules}</h2>
            {rules.data.items.length === 0 ? (
              <EmptyState icon="info" title={texts.noRules.title}>
                {texts.noRules.text}
              </EmptyState>
            ) : (
              <RuleList
                rules={rules.data.items}
                onEdit={(rule) => begin({ kind: 'edit', rule })}
                onDelete={(rule) => begin({ kind: 'delete', rule })}
              />
            )}
          </section>
          <section className={styles.stack} aria-label={texts.channels}>
            <h2 className={styles.title}>{texts.channels}</h2>
            {channels.data.items.length === 0 ? (
              <EmptyState icon="external" title={texts.noChannels.title}>
                {texts.noChannels.text}
              </EmptyState>
            ) : (
              <SimpleGrid minColWidth="min(100%, 420px)" spacing={14} style={{ alignItems: 'start' }}>
                {channels.data.items.map((channel) => (
                  <ChannelCard key={channel.name} channel={channel} />
                ))}
              </SimpleGrid>
            )}
          </section>
          <section className={styles.stack} aria-label={texts.dead}>
            <h2 className={styles.title}>{texts.dead}</h2>
            <DeadList notifications={dead.data.pages.flatMap(({ items }) => items)} />
            <OlderButton query={dead}>{texts.older}</OlderButton>
          </section>
        </>
      ) : (
        failed === undefined && <Skeleton lines={8} height={32} />
      )}
      {action?.kind === 'edit' ? (
        <RuleDialog
          rule={action.rule}
          channels={
            channels.data?.items
              .filter(({ type }) => type !== null && type !== 'openlineage')
              .map(({ name }) => name) ?? []
          }
          onClose={() => begin(null)}
        />
      ) : null}
      {action?.kind === 'delete' ? <DeleteRuleDialog rule={action.rule} onClose={() => begin(null)} /> : null}
    </>
  )
}
