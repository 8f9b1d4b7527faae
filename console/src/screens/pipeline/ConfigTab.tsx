import type { Pipeline } from '../../api/wire.js'
import { AboutFields, LimitFields } from '../../components/authoring/AboutFields.js'
import { CheckFields } from '../../components/authoring/CheckFields.js'
import { ModeFields } from '../../components/authoring/ModeFields.js'
import { ScheduleFields } from '../../components/authoring/ScheduleFields.js'
import { StepFields } from '../../components/authoring/StepFields.js'
import { TargetFields } from '../../components/authoring/TargetFields.js'
import { useEdit } from '../../components/authoring/use-edit.js'
import { useFirstInspection } from '../../components/authoring/use-first-inspection.js'
import { useInspection } from '../../components/authoring/use-inspection.js'
import { Columns } from '../../components/layout/Columns.js'
import grid from '../../components/layout/grid.module.css'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Scrollable } from '../../components/layout/Scrollable.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { editTexts } from './edit-texts.js'
import styles from './pipeline.module.css'
import { usePipeline } from './pipeline-context.js'

const TIMEOUT_MS = 1_500

export function ConfigTab() {
  const { pipeline } = usePipeline()
  const { spec, change } = useEdit(pipeline)
  const inspection = useInspection(spec)
  const fields = { spec, inspection, onChange: change }
  if (!useFirstInspection(inspection, TIMEOUT_MS)) return <Skeleton lines={12} height={28} />
  return (
    <>
      {inspection.error === null ? null : <ProblemCard error={inspection.error} />}
      <Columns least={420}>
        <div className={styles.stack}>
          <ScheduleFields {...fields} />
          <ModeFields {...fields} />
        </div>
        <div className={styles.stack}>
          <TargetFields {...fields} />
          <StepFields {...fields} />
          <AboutFields {...fields} />
          <LimitFields {...fields} />
          <CheckFields {...fields} />
        </div>
      </Columns>
      <FieldsPanel pipeline={pipeline} />
    </>
  )
}

/** The saved configuration, under the names of API and files. */
function FieldsPanel({ pipeline }: { readonly pipeline: Pipeline }) {
  const texts = useTexts(editTexts)
  const { field, notSet } = useTexts(shared)
  return (
    <Panel title={texts.fields} isFlush>
      <details className={styles.fold}>
        <summary>{texts.allFields}</summary>
        <Scrollable className={grid.scroll} label={texts.fields}>
          <table className={`${grid.grid} ${grid.stacked}`}>
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
                  <td className={`v-mono ${grid.value}`}>
                    {value === null || value === '' ? (
                      <span className="v-soft">{notSet}</span>
                    ) : (
                      written(value)
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrollable>
      </details>
    </Panel>
  )
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1)
}
