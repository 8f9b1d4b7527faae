import { Checkbox, Select, TextInput } from '@mantine/core'
import { Columns } from '../../components/layout/Columns.js'
import { useTexts } from '../../i18n/texts.js'
import { notificationsTexts } from './notifications-texts.js'
import type { RuleDraft } from './rule-draft.js'
import styles from './settings.module.css'

interface Props {
  readonly draft: RuleDraft
  readonly onChange: (part: Partial<RuleDraft>) => void
}

export function QuietFields({ draft, onChange }: Props) {
  const { form } = useTexts(notificationsTexts)
  const zones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]
  return (
    <>
      <Checkbox
        label={form.quiet}
        description={form.quietHint}
        checked={draft.isQuiet}
        onChange={({ currentTarget }) => onChange({ isQuiet: currentTarget.checked })}
      />
      {draft.isQuiet ? (
        <Columns least={170} className={styles.choices} verticalSpacing={8}>
          <TextInput
            type="time"
            label={form.from}
            value={draft.from}
            onChange={({ currentTarget }) => onChange({ from: currentTarget.value })}
          />
          <TextInput
            type="time"
            label={form.to}
            value={draft.to}
            onChange={({ currentTarget }) => onChange({ to: currentTarget.value })}
          />
          <Select
            label={form.zone}
            data={zones.includes(draft.zone) ? zones : [draft.zone, ...zones]}
            value={draft.zone}
            searchable
            limit={100}
            allowDeselect={false}
            onChange={(zone) => onChange({ zone: zone ?? 'UTC' })}
          />
        </Columns>
      ) : null}
    </>
  )
}
