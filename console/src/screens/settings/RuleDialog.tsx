import { Button, Checkbox, Group, Modal, NumberInput, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { notificationActions } from '../../api/notifications.js'
import type { NotificationRule, NotificationRuleInput } from '../../api/wire.js'
import { toastDone } from '../../components/actions/toast.js'
import { Columns } from '../../components/layout/Columns.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { notificationsTexts } from './notifications-texts.js'
import { QuietFields } from './QuietFields.js'
import { draftOf, EVENTS, inputOf, type RuleDraft } from './rule-draft.js'
import styles from './settings.module.css'

interface Props {
  /** Null: a new one. */
  readonly rule: NotificationRule | null
  readonly channels: readonly string[]
  readonly onClose: () => void
}

export function RuleDialog({ rule, channels, onClose }: Props) {
  const texts = useTexts(notificationsTexts)
  const words = useTexts(shared)
  const [draft, setDraft] = useState<RuleDraft>(() => draftOf(rule, channels))
  const [isTried, setTried] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const problems = problemsOf(draft, texts.form)
  const change = (part: Partial<RuleDraft>) => setDraft((before) => ({ ...before, ...part }))
  const save = async () => {
    setTried(true)
    if (Object.values(problems).some((problem) => problem !== null)) return
    setBusy(true)
    try {
      await store(rule, inputOf(draft))
      toastDone(rule === null ? texts.didCreate(draft.name) : texts.didChange(draft.name))
      onClose()
    } catch (thrown) {
      setError(thrown)
      setBusy(false)
    }
  }
  const shown = isTried ? problems : NONE
  return (
    <Modal opened onClose={onClose} title={rule === null ? texts.create : texts.editOf(rule.name)} size="lg">
      <form
        className={styles.stack}
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <TextInput
          label={texts.form.name}
          error={shown.name}
          value={draft.name}
          onChange={({ currentTarget }) => change({ name: currentTarget.value })}
          maxLength={200}
          autoComplete="off"
          data-autofocus
        />
        <Checkbox.Group
          label={texts.form.events}
          error={shown.events}
          value={[...draft.events]}
          onChange={(events) => change({ events })}
        >
          <Columns least={170} className={styles.choices} verticalSpacing={8}>
            {EVENTS.map((event) => (
              <Checkbox key={event} value={event} label={texts.events[event]} />
            ))}
          </Columns>
        </Checkbox.Group>
        <Select
          label={texts.form.channel}
          error={shown.channel}
          data={[...new Set([...channels, ...(draft.channel === null ? [] : [draft.channel])])]}
          value={draft.channel}
          onChange={(channel) => change({ channel })}
        />
        <TextInput
          label={texts.form.pipelines}
          description={texts.form.pipelinesHint}
          value={draft.pipelines}
          onChange={({ currentTarget }) => change({ pipelines: currentTarget.value })}
          spellCheck={false}
          autoComplete="off"
        />
        <TextInput
          label={texts.form.tags}
          description={texts.form.tagsHint}
          value={draft.tags}
          onChange={({ currentTarget }) => change({ tags: currentTarget.value })}
          spellCheck={false}
          autoComplete="off"
        />
        <QuietFields draft={draft} onChange={change} />
        <Limits draft={draft} onChange={change} />
        {error === null ? null : <ProblemCard error={error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {words.cancel}
          </Button>
          <Button type="submit" loading={isBusy}>
            {texts.form.save}
          </Button>
        </Group>
      </form>
    </Modal>
  )
}

const NONE = { name: null, events: null, channel: null }

function problemsOf(draft: RuleDraft, texts: (typeof notificationsTexts)['en']['form']) {
  const { events, channel, name } = draft
  const isAlone =
    events.includes('recovered') &&
    !(['failed', 'brake', 'stale'] as const).some((event) => events.includes(event))
  return {
    name: name.trim() === '' ? texts.nameMissing : null,
    events: events.length === 0 ? texts.eventsMissing : isAlone ? texts.recoveredAlone : null,
    channel: channel === null ? texts.channelMissing : null,
  }
}

function store(rule: NotificationRule | null, input: NotificationRuleInput): Promise<void> {
  return rule === null ? notificationActions.create(input) : notificationActions.change(rule.id, input)
}

interface PartProps {
  readonly draft: RuleDraft
  readonly onChange: (part: Partial<RuleDraft>) => void
}

function Limits({ draft, onChange }: PartProps) {
  const { form } = useTexts(notificationsTexts)
  const number = (value: string | number) => Number(value) || 0
  return (
    <Columns least={170} className={styles.limits} verticalSpacing={8}>
      <NumberInput
        label={form.group}
        description={form.groupHint}
        value={draft.group}
        min={0}
        max={3_600}
        onChange={(value) => onChange({ group: number(value) })}
      />
      <NumberInput
        label={form.repeat}
        description={form.repeatHint}
        value={draft.repeat}
        min={0}
        max={86_400}
        onChange={(value) => onChange({ repeat: number(value) })}
      />
      <NumberInput
        label={form.most}
        value={draft.most}
        min={1}
        max={1_000}
        onChange={(value) => onChange({ most: number(value) })}
      />
    </Columns>
  )
}
