import { Flex } from '@mantine/core'
import type { ReactNode } from 'react'
import styles from './authoring.module.css'
import type { Spec } from './spec.js'
import type { FieldProblem, Inspection } from './use-inspection.js'

/** The props of every group of fields. */
export interface FieldsProps {
  readonly spec: Spec
  readonly inspection: Pick<Inspection, 'problems' | 'columns'>
  readonly onChange: (some: Partial<Spec>) => void
}

/** The label, with the field name of API and files. */
export function FieldLabel({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <span className={styles.label}>
      {children} <code className="v-mono">{name}</code>
    </span>
  )
}

/** The problems of a field; without a field, all problems. Items of a list count as the list. */
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
    // Around the list: with role=status, a list would not be a list for screen readers.
    <div role="status">
      <Flex component="ul" className={styles.fieldProblems} direction="column" gap={4}>
        {own.map(({ field: of, code, message, hint, tone }) => (
          <li key={`${of} ${code} ${message}`} data-tone={tone}>
            <span>{field === undefined ? `${of}: ${message}` : message}</span>{' '}
            {hint === '' ? null : <span className="v-soft">{hint}</span>}{' '}
            <code className="v-mono v-soft">{code}</code>
          </li>
        ))}
      </Flex>
    </div>
  )
}

/** Whether the field has an error that prevents a run. */
export function isBad(problems: readonly FieldProblem[], field: string): boolean {
  return problems.some((each) => each.tone === 'bad' && each.field === field)
}
