import { Autocomplete, Checkbox, MultiSelect, Select } from '@mantine/core'
import { useSession } from '../../api/session.js'
import type { Session } from '../../api/wire.js'
import { useTexts } from '../../i18n/texts.js'
import { Columns } from '../layout/Columns.js'
import { Panel } from '../layout/Panel.js'
import styles from './authoring.module.css'
import { FieldLabel, FieldProblems, type FieldsProps, isBad } from './field-parts.js'
import { fieldTexts } from './field-texts.js'
import { suggestTarget } from './suggest.js'

const MAIN = ''

/** The target: address, database and key. */
export function TargetFields({ spec, inspection, onChange }: FieldsProps) {
  const texts = useTexts(fieldTexts)
  const { targets, sinks, connections } = useSession()
  const allowed = [...targets, ...sinks.flatMap(({ prefix, names }) => names.map((name) => prefix + name))]
  return (
    <Panel title={texts.goes}>
      <div className={styles.stack}>
        <Columns least={230}>
          <div>
            <Autocomplete
              size="xs"
              label={<FieldLabel name="target_table">{texts.target}</FieldLabel>}
              description={`${texts.targetHint(allowed.join(', '))} ${texts.targetWhy}`}
              data={addresses(spec.name, { targets, sinks })}
              value={spec.target_table}
              error={isBad(inspection.problems, 'target_table')}
              spellCheck={false}
              onChange={(target_table) => onChange({ target_table })}
            />
            <FieldProblems problems={inspection.problems} field="target_table" />
            <FieldProblems problems={inspection.problems} field="target_options" />
          </div>
          {connections.length === 0 ? null : (
            <div>
              <Select
                label={<FieldLabel name="target_connection">{texts.targetConnection}</FieldLabel>}
                data={[{ value: MAIN, label: texts.mainDatabase }, ...connections]}
                value={spec.target_connection ?? MAIN}
                allowDeselect={false}
                onChange={(value) => onChange({ target_connection: value || null })}
              />
              <FieldProblems problems={inspection.problems} field="target_connection" />
            </div>
          )}
        </Columns>
        <div>
          <ColumnsSelect spec={spec} inspection={inspection} onChange={onChange} />
          <FieldProblems problems={inspection.problems} field="key_columns" />
        </div>
        <Checkbox
          size="xs"
          label={<FieldLabel name="shared_target">{texts.shared}</FieldLabel>}
          description={texts.sharedHint}
          checked={spec.shared_target}
          onChange={({ currentTarget }) => onChange({ shared_target: currentTarget.checked })}
        />
      </div>
    </Panel>
  )
}

/** Allowed targets: a table with the name of the pipeline, and the names that sinks allow. */
function addresses(name: string, { targets, sinks }: Pick<Session, 'targets' | 'sinks'>): string[] {
  const exact = (names: readonly string[]) => names.filter((each) => !each.includes('*'))
  const found = [
    suggestTarget(name, targets),
    ...exact(targets),
    ...sinks.flatMap(({ prefix, names }) => exact(names).map((each) => prefix + each)),
  ]
  return [...new Set(found.filter((each) => each !== ''))]
}

function ColumnsSelect({ spec, inspection, onChange }: FieldsProps) {
  const texts = useTexts(fieldTexts)
  const names = new Set([...inspection.columns.map(({ name }) => name), ...spec.key_columns])
  return (
    <MultiSelect
      size="xs"
      label={<FieldLabel name="key_columns">{texts.key}</FieldLabel>}
      description={inspection.columns.length === 0 ? texts.noColumns : texts.keyHint}
      placeholder={spec.key_columns.length === 0 ? texts.keyEmpty : undefined}
      data={[...names]}
      value={spec.key_columns}
      error={isBad(inspection.problems, 'key_columns')}
      searchable
      clearable
      hidePickedOptions
      onChange={(key_columns) => onChange({ key_columns })}
    />
  )
}
