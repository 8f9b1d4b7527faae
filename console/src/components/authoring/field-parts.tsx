import type { ReactNode } from 'react'
import styles from './authoring.module.css'
import type { Spec } from './spec.js'
import type { FieldProblem, Look } from './use-look.js'

/** What every group of fields takes. */
export interface FieldsProps {
  readonly spec: Spec
  readonly look: Pick<Look, 'problems' | 'columns'>
  readonly onChange: (some: Partial<Spec>) => void
}

/** What it is in words, and what the API and the files call it. */
export function FieldLabel({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <span className={styles.label}>
      {children} <code className="v-mono">{name}</code>
    </span>
  )
}

/** What is wrong with a field, below it; without a field, all that is wrong. Fields of a list count as the list. */
export function FieldProblems({
  problems,
  field,
}: {
  readonly problems: readonly FieldProblem[]
  readonly field?: string
}) {
  const own = problems.filter(
    (each) => field === undefined || each.field === field || each.field.startsWith(`${field}.`),
  )
  if (own.length === 0) return null
  return (
    // Around the list: a list that is a status itself is no list to a screen reader.
    <div role="status">
      <ul className={styles.fieldProblems}>
        {own.map(({ field: of, code, message, hint, tone }) => (
          <li key={`${of} ${code} ${message}`} data-tone={tone}>
            <span>{field === undefined ? `${of}: ${message}` : message}</span>{' '}
            {hint === '' ? null : <span className="v-soft">{hint}</span>}{' '}
            <code className="v-mono v-soft">{code}</code>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Wrong enough to keep a run from starting. */
export function isBad(problems: readonly FieldProblem[], field: string): boolean {
  return problems.some((each) => each.tone === 'bad' && each.field === field)
}
