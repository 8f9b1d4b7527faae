import type { Preview, Validation } from '../../api/wire.js'
import { useTexts } from '../../i18n/texts.js'
import grid from '../layout/grid.module.css'
import { Scrollable } from '../layout/Scrollable.js'
import styles from './authoring.module.css'
import { inspectionTexts } from './inspection-texts.js'

export function PreviewTable({ preview: { columns, rows, truncated } }: { readonly preview: Preview }) {
  const texts = useTexts(inspectionTexts)
  if (rows.length === 0) return <p className={styles.note}>{texts.noRows}</p>
  return (
    <>
      {truncated ? <p className={styles.note}>{texts.truncated}</p> : null}
      <Scrollable className={grid.sheet} label={texts.rowsOf}>
        <table className={grid.grid}>
          <thead>
            <tr>
              {columns.map(({ name, type }) => (
                <th key={name} scope="col" title={type}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, n) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: preview rows have no other identity.
              <tr key={n}>
                {columns.map(({ name }) => (
                  <td key={name} className="v-mono">
                    <span className={grid.cut} title={row[name] ?? undefined}>
                      {row[name] ?? <span className="v-soft">{texts.isNull}</span>}
                    </span>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrollable>
    </>
  )
}

export function ColumnList({ columns }: { readonly columns: Validation['columns'] }) {
  const texts = useTexts(inspectionTexts)
  if (columns.length === 0) return null
  return (
    <details>
      <summary>{texts.columnsOf}</summary>
      <table className={grid.grid}>
        <thead>
          <tr>
            <th scope="col">{texts.column}</th>
            <th scope="col">{texts.type}</th>
          </tr>
        </thead>
        <tbody>
          {columns.map(({ name, type }) => (
            <tr key={name}>
              <td className="v-mono">{name}</td>
              <td className="v-mono">{type}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}
