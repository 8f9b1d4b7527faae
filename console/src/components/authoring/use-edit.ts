import type { Pipeline } from '../../api/wire.js'
import { useKept } from './kept.js'
import { isSame, type Spec, type SpecField, specOf } from './spec.js'

/** What somebody changed and has not saved: the fields, and the version that they saw when they began. */
export interface Draft {
  readonly base: Pipeline
  readonly fields: Partial<Spec>
}

export interface Edit {
  /** Null: nothing is changed. */
  readonly draft: Draft | null
  /** The pipeline with the changes on top. */
  readonly spec: Spec
  change(some: Partial<Spec>): void
  discard(): void
}

/** One draft for a pipeline, whatever tab it is written in. */
export function useEdit(pipeline: Pipeline): Edit {
  const [draft, keep] = useKept<Draft>(`pipeline ${pipeline.id}`)
  return {
    draft,
    spec: { ...specOf(pipeline), ...draft?.fields },
    change: (some) => {
      const base = draft?.base ?? pipeline
      const fields = changedFields(specOf(base), { ...draft?.fields, ...some })
      keep(Object.keys(fields).length === 0 ? null : { base, fields })
    },
    discard: () => keep(null),
  }
}

/** Only what differs: what somebody else changes meanwhile is not undone by the way. */
function changedFields(base: Spec, fields: Partial<Spec>): Partial<Spec> {
  return Object.fromEntries(
    Object.entries(fields).filter(([field, value]) => !isSame(value, base[field as SpecField])),
  )
}
