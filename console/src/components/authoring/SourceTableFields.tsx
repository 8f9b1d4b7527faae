import { Autocomplete, MultiSelect } from '@mantine/core'
import type { SourceTables } from '../../api/wire.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './authoring.module.css'
import { FieldLabel, FieldProblems, type FieldsProps, isBad } from './field-parts.js'
import { fieldTexts } from './field-texts.js'
import { tableAddress } from './spec.js'

interface Props extends FieldsProps {
  readonly tables: SourceTables['items']
  readonly isReadOnly: boolean
}

/** The table that is read instead of a query, and its columns. */
export function SourceTableFields({ spec, inspection, onChange, tables, isReadOnly }: Props) {
  const texts = useTexts(fieldTexts)
  const chosen = tables.find((table) => tableAddress(table) === spec.source_table)
  const names = new Set([...(chosen?.columns ?? []).map(({ name }) => name), ...spec.source_columns])
  return (
    <div className={`${styles.stack} ${styles.sourceTable}`}>
      <div>
        <Autocomplete
          size="xs"
          label={<FieldLabel name="source_table">{texts.sourceTable}</FieldLabel>}
          description={texts.sourceTableHint}
          data={tables.map(tableAddress)}
          limit={50}
          value={spec.source_table ?? ''}
          error={isBad(inspection.problems, 'source_table')}
          spellCheck={false}
          readOnly={isReadOnly}
          onChange={(source_table) => onChange({ source_table, source_columns: [] })}
        />
        <FieldProblems problems={inspection.problems} field="source_table" />
      </div>
      <div>
        <MultiSelect
          size="xs"
          label={<FieldLabel name="source_columns">{texts.sourceColumns}</FieldLabel>}
          description={texts.sourceColumnsHint}
          placeholder={spec.source_columns.length === 0 ? texts.allColumns : undefined}
          data={[...names]}
          value={spec.source_columns}
          error={isBad(inspection.problems, 'source_columns')}
          searchable
          clearable
          hidePickedOptions
          readOnly={isReadOnly}
          onChange={(source_columns) => onChange({ source_columns })}
        />
        <FieldProblems problems={inspection.problems} field="source_columns" />
      </div>
    </div>
  )
}
