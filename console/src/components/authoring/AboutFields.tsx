import { Select, Switch, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useTexts } from '../../i18n/texts.js'
import { Columns } from '../layout/Columns.js'
import { Panel } from '../layout/Panel.js'
import styles from './authoring.module.css'
import { FieldLabel, FieldProblems, type FieldsProps, isBad } from './field-parts.js'
import { fieldTexts } from './field-texts.js'
import { typedNumber } from './spec.js'

export function AboutFields({ spec, inspection, onChange }: FieldsProps) {
  const texts = useTexts(fieldTexts)
  return (
    <Panel title={texts.about}>
      <div className={styles.stack}>
        <div>
          <TextInput
            label={<FieldLabel name="name">{texts.name}</FieldLabel>}
            description={texts.nameHint}
            value={spec.name}
            error={isBad(inspection.problems, 'name')}
            spellCheck={false}
            autoComplete="off"
            onChange={({ currentTarget }) => onChange({ name: currentTarget.value })}
          />
          <FieldProblems problems={inspection.problems} field="name" />
        </div>
        <Textarea
          size="xs"
          label={<FieldLabel name="description">{texts.description}</FieldLabel>}
          description={texts.descriptionHint}
          autosize
          minRows={2}
          value={spec.description}
          onChange={({ currentTarget }) => onChange({ description: currentTarget.value })}
        />
        <div>
          <TagsInput
            size="xs"
            label={<FieldLabel name="tags">{texts.tags}</FieldLabel>}
            description={texts.tagsHint}
            value={[...spec.tags]}
            error={isBad(inspection.problems, 'tags')}
            splitChars={[',', ' ']}
            acceptValueOnBlur
            onChange={(tags) => onChange({ tags })}
          />
          <FieldProblems problems={inspection.problems} field="tags" />
        </div>
      </div>
    </Panel>
  )
}

const NUMBERS = ['batch_size', 'parallelism', 'quarantine_limit', 'delete_brake'] as const
const WORDS_TOO: readonly string[] = ['batch_size', 'parallelism']

/** Advanced fields with good defaults. */
export function LimitFields({ spec, inspection, onChange }: FieldsProps) {
  const texts = useTexts(fieldTexts)
  const words = {
    batch_size: [texts.batch, texts.batchHint],
    parallelism: [texts.parallelism, texts.parallelismHint],
    quarantine_limit: [texts.quarantine, texts.quarantineHint],
    delete_brake: [texts.brake, texts.brakeHint],
  } as const
  return (
    <Panel title={texts.limits}>
      <div className={styles.stack}>
        <Columns least={230}>
          {NUMBERS.map((field) => (
            <div key={field}>
              <TextInput
                label={<FieldLabel name={field}>{words[field][0]}</FieldLabel>}
                description={words[field][1]}
                value={String(spec[field])}
                error={isBad(inspection.problems, field)}
                inputMode={WORDS_TOO.includes(field) ? 'text' : 'decimal'}
                spellCheck={false}
                onChange={({ currentTarget }) => onChange({ [field]: typedNumber(currentTarget.value) })}
              />
              <FieldProblems problems={inspection.problems} field={field} />
            </div>
          ))}
        </Columns>
        <EngineFields spec={spec} inspection={inspection} onChange={onChange} />
        <Switch
          label={<FieldLabel name="enabled">{texts.enabled}</FieldLabel>}
          checked={spec.enabled}
          onChange={({ currentTarget }) => onChange({ enabled: currentTarget.checked })}
        />
      </div>
    </Panel>
  )
}

const ENGINES = ['local', 'spark'] as const

/** Only Spark has profiles. */
function EngineFields({ spec, inspection, onChange }: FieldsProps) {
  const texts = useTexts(fieldTexts)
  const { engine, engine_options: options } = spec
  const choose = (value: string | null) =>
    onChange({
      engine: value === 'spark' ? 'spark' : 'local',
      engine_options: value === 'spark' ? options : {},
    })
  return (
    <Columns least={230}>
      <div>
        <Select
          label={<FieldLabel name="engine">{texts.engine}</FieldLabel>}
          description={texts.engineHint}
          data={ENGINES.map((value) => ({ value, label: texts.engines[value] }))}
          value={engine}
          allowDeselect={false}
          error={isBad(inspection.problems, 'engine')}
          onChange={choose}
        />
        <FieldProblems problems={inspection.problems} field="engine" />
      </div>
      {engine === 'local' ? null : (
        <div>
          <TextInput
            label={<FieldLabel name="engine_options">{texts.profile}</FieldLabel>}
            description={texts.profileHint}
            value={options.profile ?? ''}
            error={isBad(inspection.problems, 'engine_options')}
            spellCheck={false}
            autoComplete="off"
            onChange={({ currentTarget: { value } }) =>
              onChange({ engine_options: value === '' ? {} : { profile: value } })
            }
          />
          <FieldProblems problems={inspection.problems} field="engine_options" />
        </div>
      )}
    </Columns>
  )
}
