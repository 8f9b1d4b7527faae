import { Flex, type FlexProps, SimpleGrid } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { notificationActions } from '../../api/notifications.js'
import type { NotificationRule } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { perform } from '../../components/actions/perform.js'
import { RecordTable } from '../../components/layout/RecordTable.js'
import records from '../../components/layout/records.module.css'
import { Badge } from '../../components/status/Badge.js'
import { useTexts } from '../../i18n/texts.js'
import { notificationsTexts } from './notifications-texts.js'
import styles from './settings.module.css'

interface Actions {
  readonly onEdit: (rule: NotificationRule) => void
  readonly onDelete: (rule: NotificationRule) => void
}
type RowProps = Actions & { readonly rule: NotificationRule }
type Props = Actions & { readonly rules: readonly NotificationRule[] }

export function RuleList({ rules, ...actions }: Props) {
  const texts = useTexts(notificationsTexts)
  const isPhone = useMediaQuery('(max-width: 719px)', undefined, { getInitialValueInEffect: false }) ?? false
  if (isPhone)
    return (
      <SimpleGrid minColWidth="min(100%, 420px)" spacing={14} style={{ alignItems: 'start' }}>
        {rules.map((rule) => (
          <RuleCard key={rule.id} rule={rule} {...actions} />
        ))}
      </SimpleGrid>
    )
  return (
    <RecordTable title={texts.rules} columns={texts.ruleColumns}>
      {rules.map((rule) => (
        <tr key={rule.id} data-ended={rule.enabled ? undefined : true}>
          <td>
            <NameCell rule={rule} />
          </td>
          <td>
            <Events rule={rule} />
          </td>
          <td>{pipelinesOf(rule, texts.allPipelines)}</td>
          <td>{rule.channel}</td>
          <td>
            <RuleButtons rule={rule} {...actions} wrap="nowrap" />
          </td>
        </tr>
      ))}
    </RecordTable>
  )
}

function pipelinesOf({ pipelines, tags }: NotificationRule, all: string): string {
  return [...pipelines, ...tags.map((tag) => `#${tag}`)].join(', ') || all
}

function NameCell({ rule }: { readonly rule: NotificationRule }) {
  const texts = useTexts(notificationsTexts)
  const quiet = rule.quiet_hours
  return (
    <div className={records.two}>
      <span className={records.name}>{rule.name}</span>
      {quiet === null ? null : (
        <span className={records.soft}>{texts.quiet(quiet.from, quiet.to, quiet.timezone ?? 'UTC')}</span>
      )}
      {rule.enabled ? null : (
        <Badge tone="rest" icon="pause">
          {texts.disabled}
        </Badge>
      )}
    </div>
  )
}

function Events({ rule }: { readonly rule: NotificationRule }) {
  const { events } = useTexts(notificationsTexts)
  return (
    <Flex gap={4} wrap="wrap">
      {rule.events.map((event) => (
        <span key={event} className={styles.chip}>
          {events[event] ?? event}
        </span>
      ))}
    </Flex>
  )
}

function RuleButtons({ rule, onEdit, onDelete, wrap }: RowProps & Pick<FlexProps, 'wrap'>) {
  const texts = useTexts(notificationsTexts)
  const { id, name, enabled } = rule
  const toggle = () =>
    perform(() => notificationActions.change(id, { enabled: !enabled }), {
      done: texts.didChange(name),
      failed: texts.didNotChange,
    })
  return (
    <Flex gap={6} wrap={wrap} justify="flex-end">
      <ActionButton
        needs="admin"
        size="compact-sm"
        aria-label={enabled ? texts.disableOf(name) : texts.enableOf(name)}
        onClick={() => void toggle()}
      >
        {enabled ? texts.disable : texts.enable}
      </ActionButton>
      <ActionButton
        needs="admin"
        size="compact-sm"
        aria-label={texts.editOf(name)}
        onClick={() => onEdit(rule)}
      >
        {texts.edit}
      </ActionButton>
      <ActionButton
        needs="admin"
        size="compact-sm"
        aria-label={texts.removeOf(name)}
        onClick={() => onDelete(rule)}
      >
        {texts.remove}
      </ActionButton>
    </Flex>
  )
}

function RuleCard({ rule, ...actions }: RowProps) {
  const texts = useTexts(notificationsTexts)
  return (
    <Flex component="article" className={styles.card} direction="column" gap={12} aria-label={rule.name}>
      <NameCell rule={rule} />
      <Events rule={rule} />
      <dl className={styles.facts}>
        <div>
          <dt>{texts.ruleColumns.pipelines}</dt>
          <dd>{pipelinesOf(rule, texts.allPipelines)}</dd>
        </div>
        <div>
          <dt>{texts.ruleColumns.channel}</dt>
          <dd>{rule.channel}</dd>
        </div>
      </dl>
      <RuleButtons rule={rule} {...actions} wrap="wrap" />
    </Flex>
  )
}
