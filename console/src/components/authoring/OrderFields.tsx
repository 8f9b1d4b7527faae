import { Select, TagsInput } from '@mantine/core'
import { useTexts } from '../../i18n/texts.js'
import { Columns } from '../layout/Columns.js'
import { FieldLabel, FieldProblems, type FieldsProps, isBad } from './field-parts.js'
import { fieldTexts } from './field-texts.js'

/** Which pipelines it follows, whether a failure of theirs holds it back, and whether marts are published together. */
export function OrderFields({ spec, inspection, onChange }: FieldsProps) {
  const texts = useTexts(fieldTexts)
  const { after } = spec
  const names = Array.isArray(after) ? after : []
  return (
    <Columns least={230}>
      <div>
        <Select
          label={<FieldLabel name="after">{texts.after}</FieldLabel>}
          description={texts.afterHint}
          data={(['auto', 'names', 'none'] as const).map((value) => ({
            value,
            label: texts.afterChoices[value],
          }))}
          value={Array.isArray(after) ? 'names' : after}
          allowDeselect={false}
          onChange={(value) =>
            onChange({ after: value === 'names' ? [] : value === 'none' ? 'none' : 'auto' })
          }
        />
        {Array.isArray(after) ? (
          <TagsInput
            mt={6}
            size="xs"
            aria-label={texts.afterNames}
            placeholder={texts.afterNames}
            value={[...names]}
            error={isBad(inspection.problems, 'after')}
            splitChars={[',']}
            acceptValueOnBlur
            onChange={(value) => onChange({ after: value })}
          />
        ) : null}
        <FieldProblems problems={inspection.problems} field="after" />
      </div>
      <div>
        <Select
          label={<FieldLabel name="on_upstream_failure">{texts.onUpstreamFailure}</FieldLabel>}
          description={texts.onUpstreamFailureHint}
          data={(['wait', 'run'] as const).map((value) => ({
            value,
            label: texts.onUpstreamFailureChoices[value],
          }))}
          value={spec.on_upstream_failure}
          allowDeselect={false}
          onChange={(value) => onChange({ on_upstream_failure: value === 'run' ? 'run' : 'wait' })}
        />
        <FieldProblems problems={inspection.problems} field="on_upstream_failure" />
      </div>
      <div>
        <Select
          label={<FieldLabel name="consistency">{texts.consistency}</FieldLabel>}
          description={texts.consistencyHint}
          data={(['none', 'group'] as const).map((value) => ({
            value,
            label: texts.consistencyChoices[value],
          }))}
          value={spec.consistency}
          allowDeselect={false}
          onChange={(value) => onChange({ consistency: value === 'group' ? 'group' : 'none' })}
        />
        <FieldProblems problems={inspection.problems} field="consistency" />
      </div>
    </Columns>
  )
}
