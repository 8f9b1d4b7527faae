import { ActionIcon, Button, Flex, MultiSelect, Select, TagsInput, Textarea, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import styles from '../data-checks/data-checks.module.css'
import { dataCheckTexts } from '../data-checks/texts.js'
import { Panel } from '../layout/Panel.js'
import authoring from './authoring.module.css'
import {
  type CheckDraft,
  type CheckType,
  changedCheck,
  columnsOfCheck,
  limitText,
  newCheck,
  ON_FAILURE,
  OVER_TYPES,
  retyped,
  TYPES,
  valueTexts,
} from './check-draft.js'
import { FieldProblems, type FieldsProps } from './field-parts.js'
import type { Spec } from './spec.js'

/** The data checks of a pipeline. */
export function CheckFields({ spec, inspection, onChange }: FieldsProps) {
  const { fields } = useTexts(dataCheckTexts)
  const checks = spec.checks as readonly CheckDraft[]
  const change = (next: readonly CheckDraft[]) => onChange({ checks: next as Spec['checks'] })
  const columns = inspection.columns.map(({ name }) => name)
  return (
    <Panel
      title={fields.title}
      actions={
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => change([...checks, newCheck(checks, columns)])}
        >
          {fields.add}
        </Button>
      }
    >
      <div className={authoring.stack}>
        <p className={authoring.note}>{fields.hint}</p>
        <Flex component="ol" className={styles.list} direction="column" gap={14}>
          {checks.map((check, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the name is being edited; the position identifies a check.
            <Flex component="li" key={place} className={styles.item} direction="column" gap={8}>
              <CheckEditor
                check={check}
                columns={columns}
                onChange={(next) => change(checks.with(place, next))}
                onRemove={() => change(checks.toSpliced(place, 1))}
              />
              <FieldProblems problems={inspection.problems} field={`checks.${place}`} />
            </Flex>
          ))}
        </Flex>
      </div>
    </Panel>
  )
}

interface EditorProps {
  readonly check: CheckDraft
  readonly columns: readonly string[]
  readonly onChange: (check: CheckDraft) => void
}

function CheckEditor({
  check,
  columns,
  onChange,
  onRemove,
}: EditorProps & { readonly onRemove: () => void }) {
  const texts = useTexts(dataCheckTexts)
  const { fields } = texts
  return (
    <>
      <div className={styles.head}>
        <TextInput
          size="xs"
          label={fields.name}
          value={check.name}
          spellCheck={false}
          onChange={({ currentTarget }) => onChange({ ...check, name: currentTarget.value })}
        />
        <ActionIcon aria-label={fields.remove(check.name)} onClick={onRemove}>
          <Icon name="cross" size={14} />
        </ActionIcon>
      </div>
      <div className={styles.row}>
        <Select
          size="xs"
          label={fields.type}
          data={TYPES.map((value) => ({ value, label: texts.types[value] }))}
          value={check.type}
          allowDeselect={false}
          onChange={(type) => onChange(retyped(check, type as CheckType, columns))}
        />
        <Select
          size="xs"
          label={fields.onFailure}
          data={ON_FAILURE.map((value) => ({ value, label: texts.reactions[value] }))}
          value={check.on_failure}
          allowDeselect={false}
          onChange={(value) => onChange({ ...check, on_failure: value as CheckDraft['on_failure'] })}
        />
        {OVER_TYPES.has(check.type) ? (
          <Select
            size="xs"
            label={fields.over}
            placeholder={fields.overDefault}
            clearable
            data={[
              { value: 'batch', label: texts.overs.batch },
              { value: 'mart', label: texts.overs.mart },
            ]}
            value={check.over ?? null}
            onChange={(value) => onChange(changedCheck(check, { over: value ?? undefined }))}
          />
        ) : null}
      </div>
      <TypeFields check={check} columns={columns} onChange={onChange} />
    </>
  )
}

function TypeFields(props: EditorProps): ReactNode {
  switch (props.check.type) {
    case 'not_null':
    case 'unique':
      return <Columns {...props} />
    case 'accepted_values':
      return (
        <div className={styles.row}>
          <OneColumn {...props} />
          <Values {...props} />
        </div>
      )
    case 'range':
      return (
        <div className={styles.row}>
          <OneColumn {...props} />
          <Limits {...props} />
        </div>
      )
    case 'relationship':
      return <Relationship {...props} />
    case 'row_count':
      return (
        <div className={styles.row}>
          <Limits {...props} />
          <Usual {...props} />
        </div>
      )
    case 'freshness':
      return (
        <div className={styles.row}>
          <OneColumn {...props} />
          <MaxAge {...props} />
        </div>
      )
    case 'expression':
      return <Expression {...props} />
  }
}

function Columns({ check, columns, onChange }: EditorProps) {
  const { fields } = useTexts(dataCheckTexts)
  const chosen = columnsOfCheck(check)
  return (
    <MultiSelect
      size="xs"
      label={fields.columns}
      data={[...new Set([...columns, ...chosen])]}
      value={chosen}
      searchable
      hidePickedOptions
      onChange={(names) => onChange(changedCheck(check, { column: undefined, columns: names }))}
    />
  )
}

function OneColumn({ check, columns, onChange }: EditorProps) {
  const { fields } = useTexts(dataCheckTexts)
  const [column = ''] = columnsOfCheck(check)
  return (
    <Select
      size="xs"
      label={fields.column}
      data={[...new Set([...columns, ...(column === '' ? [] : [column])])]}
      value={column === '' ? null : column}
      searchable
      onChange={(name) => onChange(changedCheck(check, { column: name ?? undefined }))}
    />
  )
}

function Values({ check, onChange }: EditorProps) {
  const { fields } = useTexts(dataCheckTexts)
  return (
    <TagsInput
      size="xs"
      label={fields.values}
      description={fields.valuesHint}
      value={valueTexts(check)}
      acceptValueOnBlur
      onChange={(values) => onChange(changedCheck(check, { values }))}
    />
  )
}

function Limits({ check, onChange }: EditorProps) {
  const { fields } = useTexts(dataCheckTexts)
  return (
    <>
      {(['min', 'max'] as const).map((field) => (
        <TextInput
          key={field}
          size="xs"
          label={fields[field]}
          value={limitText(check[field])}
          onChange={({ currentTarget }) => onChange(changedCheck(check, { [field]: currentTarget.value }))}
        />
      ))}
    </>
  )
}

function Usual({ check, onChange }: EditorProps) {
  const { fields } = useTexts(dataCheckTexts)
  return (
    <TextInput
      size="xs"
      label={fields.usual}
      inputMode="decimal"
      value={limitText(check.usual)}
      onChange={({ currentTarget }) => onChange(changedCheck(check, { usual: currentTarget.value }))}
    />
  )
}

function MaxAge({ check, onChange }: EditorProps) {
  const { fields } = useTexts(dataCheckTexts)
  return (
    <TextInput
      size="xs"
      label={fields.maxAge}
      placeholder="6h"
      value={check.max_age ?? ''}
      onChange={({ currentTarget }) => onChange(changedCheck(check, { max_age: currentTarget.value }))}
    />
  )
}

function Relationship({ check, columns, onChange }: EditorProps) {
  const { fields } = useTexts(dataCheckTexts)
  const others = check.to_columns ?? (check.to_column === undefined ? [] : [check.to_column])
  return (
    <div className={styles.row}>
      <Columns check={check} columns={columns} onChange={onChange} />
      <TextInput
        size="xs"
        label={fields.to}
        placeholder="analytics.film_dim"
        value={check.to ?? ''}
        spellCheck={false}
        onChange={({ currentTarget }) => onChange(changedCheck(check, { to: currentTarget.value }))}
      />
      <TagsInput
        size="xs"
        label={fields.toColumns}
        value={[...others]}
        acceptValueOnBlur
        onChange={(names) => onChange(changedCheck(check, { to_column: undefined, to_columns: names }))}
      />
    </div>
  )
}

function Expression({ check, onChange }: EditorProps) {
  const { fields } = useTexts(dataCheckTexts)
  return (
    <Textarea
      size="xs"
      label={fields.sql}
      placeholder="rating BETWEEN 0 AND 10"
      autosize
      minRows={2}
      spellCheck={false}
      classNames={{ input: 'v-mono' }}
      value={check.sql ?? ''}
      onChange={({ currentTarget }) => onChange(changedCheck(check, { sql: currentTarget.value }))}
    />
  )
}
