import { Checkbox, Radio, Select, Stack } from '@mantine/core'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { Columns } from '../layout/Columns.js'
import { Panel } from '../layout/Panel.js'
import styles from './authoring.module.css'
import { FieldLabel, FieldProblems, type FieldsProps, isBad } from './field-parts.js'
import { fieldTexts } from './field-texts.js'
import type { Spec } from './spec.js'
import { growingColumns, suggestGrowing } from './suggest.js'
import type { Inspection } from './use-inspection.js'

const WAYS = ['upsert', 'replace', 'key', 'xmin', 'wal'] as const
type Way = (typeof WAYS)[number]

function wayOf({ mode, full_strategy, capture }: Spec): Way {
  return mode === 'full' ? full_strategy : capture
}

/** Fields that belong together. The most likely columns are preselected. */
function fieldsOf(way: Way, spec: Spec, columns: Inspection['columns']): Partial<Spec> {
  if (way === 'upsert' || way === 'replace')
    return {
      mode: 'full',
      full_strategy: way,
      capture: 'key',
      incremental_key: null,
      incremental_id_key: null,
      freshness: spec.freshness === 'live' ? null : spec.freshness,
    }
  const shared = {
    mode: 'incremental',
    full_strategy: 'upsert',
    capture: way,
    freshness: spec.freshness === 'live' && way !== 'wal' ? null : spec.freshness,
  } as const
  const none = { incremental_key: null, incremental_id_key: null }
  // Deleted rows are in the log, so that there is nothing to sweep.
  if (way === 'wal') return { ...shared, ...none, deletes: 'ignore' }
  if (way === 'xmin') return { ...shared, ...none }
  const key = spec.incremental_key ?? suggestGrowing(columns)
  const then = spec.key_columns.find((name) => name !== key) ?? null
  return {
    ...shared,
    incremental_key: key,
    incremental_id_key: spec.incremental_id_key ?? (key === null ? null : then),
  }
}

/** The load strategies with their consequences. */
export function ModeFields(props: FieldsProps) {
  const texts = useTexts(fieldTexts)
  const format = useFormat()
  const { spec, inspection, onChange } = props
  const way = wayOf(spec)
  return (
    <Panel title={texts.fresh}>
      <div className={styles.stack}>
        <Radio.Group
          aria-label={texts.ways}
          value={way}
          onChange={(value) => onChange(fieldsOf(value as Way, spec, inspection.columns))}
        >
          <Stack gap={10}>
            {WAYS.map((each) => (
              <Radio
                key={each}
                size="xs"
                value={each}
                label={texts.way[each]}
                description={texts.wayHint[each]}
              />
            ))}
          </Stack>
        </Radio.Group>
        <FieldProblems problems={inspection.problems} field="mode" />
        <FieldProblems problems={inspection.problems} field="capture" />
        <FieldProblems problems={inspection.problems} field="full_strategy" />
        {way === 'key' ? <KeyFields {...props} /> : null}
        {way === 'wal' ? <LiveField {...props} /> : null}
        {way === 'replace' || way === 'wal' ? null : (
          <Checkbox
            size="xs"
            label={texts.sweep}
            description={texts.sweepHint(shareOf(spec.delete_brake, format.percent))}
            checked={spec.deletes === 'sweep'}
            onChange={({ currentTarget }) =>
              onChange({ deletes: currentTarget.checked ? 'sweep' : 'ignore' })
            }
          />
        )}
        <FieldProblems problems={inspection.problems} field="deletes" />
      </div>
    </Panel>
  )
}

function LiveField({ spec, inspection, onChange }: FieldsProps) {
  const texts = useTexts(fieldTexts)
  return (
    <div>
      <Checkbox
        size="xs"
        label={texts.live}
        description={texts.liveHint}
        checked={spec.freshness === 'live'}
        onChange={({ currentTarget }) => onChange({ freshness: currentTarget.checked ? 'live' : null })}
      />
      <FieldProblems problems={inspection.problems} field="freshness" />
    </div>
  )
}

function shareOf(brake: Spec['delete_brake'], percent: (share: number) => string): string {
  return typeof brake === 'number' ? percent(brake) : brake
}

function KeyFields({ spec, inspection, onChange }: FieldsProps) {
  const texts = useTexts(fieldTexts)
  const field = (name: 'incremental_key' | 'incremental_id_key', label: string, hint: string) => {
    const value = spec[name]
    const columns = growingColumns(inspection.columns)
    return (
      <div>
        <Select
          label={<FieldLabel name={name}>{label}</FieldLabel>}
          description={inspection.columns.length === 0 ? texts.noColumns : hint}
          placeholder={texts.pickColumn}
          data={value === null || columns.includes(value) ? columns : [value, ...columns]}
          value={value}
          error={isBad(inspection.problems, name)}
          searchable
          clearable
          onChange={(next) => onChange({ [name]: next })}
        />
        <FieldProblems problems={inspection.problems} field={name} />
      </div>
    )
  }
  return (
    <Columns least={230}>
      {field('incremental_key', texts.incrementalKey, texts.incrementalKeyHint)}
      {field('incremental_id_key', texts.incrementalIdKey, texts.incrementalIdKeyHint)}
    </Columns>
  )
}
