import { Select, Switch, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Pipeline } from '../../api/wire.js'
import { ActionButton } from '../../components/ActionButton.js'
import { Panel } from '../../components/Panel.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { type ConfigForm, formOf, patchOfForm, wrongFields } from './config-form.js'
import { editTexts } from './edit-texts.js'
import styles from './pipeline.module.css'
import { usePipeline } from './pipeline-context.js'
import { ReviewDialog } from './ReviewDialog.js'
import tables from './tables.module.css'

export function ConfigTab() {
  const { pipeline } = usePipeline()
  return (
    <>
      <FormPanel pipeline={pipeline} />
      <FieldsPanel pipeline={pipeline} />
    </>
  )
}

function FormPanel({ pipeline }: { readonly pipeline: Pipeline }) {
  const texts = useTexts(editTexts)
  const [edits, setEdits] = useState<Partial<ConfigForm>>({})
  const [isReviewed, review] = useState(false)
  const wrong = wrongFields(edits)
  const isChanged = Object.keys(edits).length > 0
  return (
    <Panel title={texts.form}>
      <div className={styles.stack}>
        <Fields
          form={{ ...formOf(pipeline), ...edits }}
          wrong={wrong}
          onChange={(change) => setEdits(withoutSame({ ...edits, ...change }, formOf(pipeline)))}
        />
        <div className={styles.bar}>
          <ActionButton
            needs="admin"
            variant="filled"
            refusal={!isChanged ? texts.nothingChanged : wrong.size > 0 ? texts.notNumber : null}
            onClick={() => review(true)}
          >
            {texts.review}
          </ActionButton>
          {isChanged ? (
            <ActionButton needs="viewer" onClick={() => setEdits({})}>
              {texts.discard}
            </ActionButton>
          ) : null}
        </div>
      </div>
      {isReviewed ? (
        <ReviewDialog
          pipeline={pipeline}
          patchOf={() => patchOfForm(edits)}
          onSaved={() => setEdits({})}
          onClose={() => review(false)}
        />
      ) : null}
    </Panel>
  )
}

function withoutSame(edits: Partial<ConfigForm>, saved: ConfigForm): Partial<ConfigForm> {
  return Object.fromEntries(
    Object.entries(edits).filter(([field, value]) => value !== saved[field as keyof ConfigForm]),
  )
}

interface FieldsProps {
  readonly form: ConfigForm
  readonly wrong: ReadonlySet<string>
  readonly onChange: (change: Partial<ConfigForm>) => void
}

/** Fields have the names that the API and the files use. */
function Fields({ form, wrong, onChange }: FieldsProps) {
  const texts = useTexts(editTexts)
  const text = (
    field: 'batch_size' | 'schedule_interval' | 'schedule_timezone' | 'quarantine_limit' | 'delete_brake',
    hint?: string,
  ) => (
    <TextInput
      label={field}
      description={hint}
      value={form[field]}
      error={wrong.has(field) ? texts.notNumber : null}
      spellCheck={false}
      onChange={(event) => onChange({ [field]: event.currentTarget.value })}
    />
  )
  return (
    <div className={styles.form}>
      <Textarea
        className={styles.wide}
        label="description"
        autosize
        minRows={2}
        value={form.description}
        onChange={(event) => onChange({ description: event.currentTarget.value })}
      />
      {text('schedule_interval', texts.scheduleHint)}
      {text('schedule_timezone')}
      {text('batch_size', texts.autoSize)}
      {text('quarantine_limit')}
      <Select
        label="deletes"
        data={['ignore', 'sweep']}
        value={form.deletes}
        allowDeselect={false}
        onChange={(value) => onChange({ deletes: value === 'sweep' ? 'sweep' : 'ignore' })}
      />
      {text('delete_brake', texts.brakeHint)}
      <Switch
        label="enabled"
        checked={form.enabled}
        onChange={(event) => onChange({ enabled: event.currentTarget.checked })}
      />
    </div>
  )
}

function FieldsPanel({ pipeline }: { readonly pipeline: Pipeline }) {
  const texts = useTexts(editTexts)
  const { field, notSet } = useTexts(shared)
  return (
    <Panel title={texts.fields} isFlush>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
      <section className={tables.scroll} tabIndex={0} aria-label={texts.fields}>
        <table className={tables.grid}>
          <thead>
            <tr>
              <th scope="col">{field}</th>
              <th scope="col">{texts.value}</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(pipeline).map(([name, value]) => (
              <tr key={name}>
                <th scope="row" className="v-mono">
                  {name}
                </th>
                <td className={`v-mono ${tables.value}`}>
                  {value === null || value === '' ? <span className="v-soft">{notSet}</span> : written(value)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Panel>
  )
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1)
}
