import type { ReactNode } from 'react'
import records from './records.module.css'

interface Props {
  readonly title: string
  /** Column names. That of `actions` is for screen readers only. */
  readonly columns: Readonly<Record<string, string>>
  /** Rows of the body. */
  readonly children: ReactNode
}

/** A short table whose rows cannot be opened. */
export function RecordTable({ title, columns, children }: Props) {
  return (
    <div className={records.box}>
      <table className={records.table} aria-label={title}>
        <thead>
          <tr>
            {Object.entries(columns).map(([key, name]) => (
              <th key={key} scope="col">
                {key === 'actions' ? <span className="v-heard-only">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
