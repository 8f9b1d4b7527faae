import { useTexts } from '../../i18n/texts.js'
import { shared } from '../texts.js'
import styles from './diff.module.css'

export type FieldChanges = Readonly<Record<string, { readonly old: unknown; readonly new: unknown }>>

/** Changes field by field, for versions, audit log and plans. Long texts are shown one above the other. */
export function DiffView({ changes }: { readonly changes: FieldChanges }) {
  const texts = useTexts(shared)
  return (
    <table className={styles.diff}>
      <thead>
        <tr>
          <th scope="col">{texts.field}</th>
          <th scope="col">{texts.before}</th>
          <th scope="col">{texts.after}</th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(changes).map(([field, { old, new: next }]) => (
          <tr key={field}>
            <th scope="row" className="v-mono">
              {field}
            </th>
            <td>
              <Value value={old} mark="old" />
            </td>
            <td>
              <Value value={next} mark="new" />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Value({ value, mark }: { readonly value: unknown; readonly mark: 'old' | 'new' }) {
  const texts = useTexts(shared)
  if (value === null || value === undefined) return <span className="v-soft">{texts.notSet}</span>
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 1)
  const Mark = mark === 'old' ? 'del' : 'ins'
  return <Mark className={`${styles[mark]} v-mono`}>{text}</Mark>
}
