import type { Pipeline } from '../../api/wire.js'
import { AboutFields, LimitFields } from '../../components/authoring/AboutFields.js'
import { ModeFields } from '../../components/authoring/ModeFields.js'
import { ScheduleFields } from '../../components/authoring/ScheduleFields.js'
import { StepFields } from '../../components/authoring/StepFields.js'
import { TargetFields } from '../../components/authoring/TargetFields.js'
import { useEdit } from '../../components/authoring/use-edit.js'
import { useFirstLook } from '../../components/authoring/use-first-look.js'
import { useLook } from '../../components/authoring/use-look.js'
import grid from '../../components/grid.module.css'
import { Panel } from '../../components/Panel.js'
import { ProblemCard } from '../../components/ProblemCard.js'
import { Skeleton } from '../../components/Skeleton.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { editTexts } from './edit-texts.js'
import styles from './pipeline.module.css'
import { usePipeline } from './pipeline-context.js'

const PATIENCE_MS = 1_500

export function ConfigTab() {
  const { pipeline } = usePipeline()
  const { spec, change } = useEdit(pipeline)
  const look = useLook(spec)
  const fields = { spec, look, onChange: change }
  if (!useFirstLook(look, PATIENCE_MS)) return <Skeleton lines={12} height={28} />
  return (
    <>
      {look.error === null ? null : <ProblemCard error={look.error} />}
      <div className={styles.sections}>
        <div className={styles.stack}>
          <ScheduleFields {...fields} />
          <ModeFields {...fields} />
        </div>
        <div className={styles.stack}>
          <TargetFields {...fields} />
          <StepFields {...fields} />
          <AboutFields {...fields} />
          <LimitFields {...fields} />
        </div>
      </div>
      <FieldsPanel pipeline={pipeline} />
    </>
  )
}

/** As it is saved, under the names that the API and the files use. */
function FieldsPanel({ pipeline }: { readonly pipeline: Pipeline }) {
  const texts = useTexts(editTexts)
  const { field, notSet } = useTexts(shared)
  return (
    <Panel title={texts.fields} isFlush>
      <details className={styles.fold}>
        <summary>{texts.allFields}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
        <section className={grid.scroll} tabIndex={0} aria-label={texts.fields}>
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
        </section>
      </details>
    </Panel>
  )
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1)
}
