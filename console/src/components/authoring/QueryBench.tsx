import { Flex, Group, SegmentedControl, Select } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type CSSProperties, lazy, type ReactNode, Suspense, useState } from 'react'
import { tablesQuery } from '../../api/authoring.js'
import { pipelineActions } from '../../api/pipeline.js'
import { useMay, useSession } from '../../api/session.js'
import type { Finding, Preview, SourceTables } from '../../api/wire.js'
import { useTexts } from '../../i18n/texts.js'
import { ActionButton } from '../actions/ActionButton.js'
import code from '../editor/code.module.css'
import { Panel } from '../layout/Panel.js'
import { ProblemCard } from '../layout/ProblemCard.js'
import { Tip } from '../text/Tip.js'
import styles from './authoring.module.css'
import { FieldProblems } from './field-parts.js'
import { inspectionTexts } from './inspection-texts.js'
import { PreviewTable } from './PreviewTable.js'
import { SourceTableFields } from './SourceTableFields.js'
import { isSame, queryOf, readsTable, type Spec, toInput, withQuery } from './spec.js'
import type { Inspection } from './use-inspection.js'
import { ValidationSummary, ValidityBadge } from './ValidationSummary.js'

const Editor = lazy(() => import('./SqlEditor.js').then(({ SqlEditor }) => ({ default: SqlEditor })))
const PREVIEW_ROWS = 50
const MAIN = ''
const NONE: readonly Finding[] = []
const NO_TABLES: SourceTables['items'] = []

interface Props {
  readonly spec: Spec
  readonly inspection: Inspection
  readonly onChange: (some: Partial<Spec>) => void
  /** Shown while the query is empty. */
  readonly example?: string
  /** Additional content below the editor. */
  readonly actions?: ReactNode
}

/** The query next to its validation, the planner's findings and the first rows. */
export function QueryBench(props: Props) {
  const { spec } = props
  const preview = useMutation({
    mutationFn: (asked: Spec) => pipelineActions.preview(toInput(asked), PREVIEW_ROWS),
  })
  const isOld = preview.variables !== undefined && !isSame(preview.variables, spec)
  return (
    <div className={styles.halves}>
      <QueryPanel {...props} />
      <ResultPanel {...props} isPreviewing={preview.isPending} onPreview={() => preview.mutate(spec)} />
      <PreviewPanel error={preview.error} preview={preview.data} isOld={isOld} />
    </div>
  )
}

function QueryPanel({ spec, inspection, onChange, example, actions }: Props) {
  const texts = useTexts(inspectionTexts)
  const { role } = useSession()
  const mayEdit = useMay('admin')
  const mayInspect = useMay('operator')
  const isPhone = useMediaQuery('(max-width: 719px)', undefined, { getInitialValueInEffect: false }) ?? false
  const { data: tables } = useQuery(tablesQuery(spec.source_connection))
  const { errors = NONE, warnings = NONE } = inspection.validation ?? {}
  return (
    <Panel
      title={readsTable(spec) ? texts.table : texts.query}
      actions={
        <Group gap={8}>
          <SourceKind {...{ spec, onChange }} isReadOnly={isPhone} />
          <SourceSelect {...{ spec, onChange }} />
        </Group>
      }
      isFlush
    >
      <div className={styles.editor} style={{ '--lines': queryOf(spec).split('\n').length } as CSSProperties}>
        {readsTable(spec) ? (
          <SourceTableFields
            {...{ spec, inspection, onChange }}
            tables={tables?.items ?? NO_TABLES}
            isReadOnly={isPhone}
          />
        ) : (
          <Suspense fallback={<pre className={code.plain}>{queryOf(spec)}</pre>}>
            <Editor
              text={queryOf(spec)}
              label={texts.query}
              errors={errors}
              warnings={warnings}
              tables={tables?.items ?? NO_TABLES}
              {...(example === undefined ? {} : { example })}
              {...(isPhone ? {} : { onChange: (text: string) => onChange(withQuery(spec, text)) })}
            />
          </Suspense>
        )}
      </div>
      <Flex className={styles.under} rowGap={6} columnGap={14} align="center" wrap="wrap">
        <span className="v-soft">
          {isPhone ? (
            texts.readOnlyPhone
          ) : mayEdit ? (
            <Names tables={tables} />
          ) : (
            texts.readOnlyRole(role, mayInspect)
          )}
        </span>
        {actions}
      </Flex>
    </Panel>
  )
}

/** A query or a table. With steps, the rows come from the first query of the plan. */
function SourceKind({
  spec,
  onChange,
  isReadOnly,
}: Pick<Props, 'spec' | 'onChange'> & { readonly isReadOnly: boolean }) {
  const texts = useTexts(inspectionTexts)
  // Kept while a table is selected, so that switching back does not lose a long query.
  const [written, keep] = useState('')
  if (spec.tasks.length > 0) return null
  const choose = (kind: string) => {
    const query = queryOf(spec)
    if (kind === 'query') return onChange(withQuery(spec, written || query))
    keep(query)
    onChange({ source_table: '', source_columns: [], source_query: null })
  }
  return (
    <SegmentedControl
      size="xs"
      aria-label={texts.readFrom}
      data={[
        { value: 'query', label: texts.query },
        { value: 'table', label: texts.table },
      ]}
      value={readsTable(spec) ? 'table' : 'query'}
      readOnly={isReadOnly}
      onChange={choose}
    />
  )
}

function Names({ tables }: { readonly tables: SourceTables | undefined }) {
  const texts = useTexts(inspectionTexts)
  if (tables === undefined) return texts.completes
  const schemas = tables.schemas.join(', ')
  if (tables.items.length === 0) return texts.noTables(schemas)
  return `${texts.mayRead(tables.items.length, schemas)} ${texts.completes}`
}

/** Only if there is a choice. */
function SourceSelect({ spec, onChange }: Pick<Props, 'spec' | 'onChange'>) {
  const texts = useTexts(inspectionTexts)
  const { connections } = useSession()
  if (connections.length === 0) return null
  return (
    <Select
      aria-label={texts.connection}
      data={[{ value: MAIN, label: texts.mainDatabase }, ...connections]}
      value={spec.source_connection ?? MAIN}
      allowDeselect={false}
      w={180}
      onChange={(value) => onChange({ source_connection: value || null })}
    />
  )
}

interface PreviewProps {
  readonly error: unknown
  readonly preview: Preview | undefined
  /** The draft has changed since. */
  readonly isOld: boolean
}

/** Full width: rows are wide. */
function PreviewPanel({ error, preview, isOld }: PreviewProps) {
  const texts = useTexts(inspectionTexts)
  if (error === null && preview === undefined) return null
  return (
    <div className={styles.wide}>
      <Panel
        title={preview === undefined ? texts.rowsOf : texts.rowsShown(preview.rows.length)}
        actions={isOld ? <span className="v-soft">{texts.oldRows}</span> : null}
      >
        <div className={isOld ? `${styles.tight} ${styles.dimmed}` : styles.tight}>
          {error === null ? null : <ProblemCard error={error} />}
          {preview === undefined ? null : <PreviewTable preview={preview} />}
        </div>
      </Panel>
    </div>
  )
}

interface ResultProps extends Props {
  readonly isPreviewing: boolean
  readonly onPreview: () => void
}

function ResultPanel({ spec, inspection, isPreviewing, onPreview }: ResultProps) {
  const texts = useTexts(inspectionTexts)
  const { validation, problems, error, isBehind, isWhole } = inspection
  const mayInspect = useMay('operator')
  const isEmpty = queryOf(spec).trim() === ''
  return (
    <Panel
      title={texts.result}
      actions={
        isBehind ? (
          <span className="v-soft">{texts.inspecting}</span>
        ) : validation === null ? null : (
          <ValidityBadge isValid={validation.valid} />
        )
      }
    >
      <div className={styles.stack}>
        <Group gap={8}>
          <Tip label={mayInspect ? texts.validateWhy : null}>
            <ActionButton needs="operator" disabled={isEmpty || isWhole} onClick={inspection.inspectFully}>
              {texts.validate}
            </ActionButton>
          </Tip>
          <ActionButton
            needs="operator"
            icon="table"
            loading={isPreviewing}
            refusal={isEmpty ? texts.notInspected : null}
            onClick={onPreview}
          >
            {texts.preview(PREVIEW_ROWS)}
          </ActionButton>
        </Group>
        {error === null ? null : <ProblemCard error={error} />}
        {validation === null ? (
          <FieldProblems problems={problems} />
        ) : (
          <div className={isBehind ? styles.dimmed : undefined}>
            <ValidationSummary validation={validation} isWhole />
          </div>
        )}
        {validation === null && problems.length === 0 && error === null ? (
          <p className={styles.note}>{texts.notInspected}</p>
        ) : null}
      </div>
    </Panel>
  )
}
