import type { Pipeline } from '../../api/wire.js'
import { isSame, type Spec, type SpecField, specOf } from './spec.js'
import { useUnsaved } from './use-unsaved.js'

/** Unsaved changes: the fields, and the version on which they are based. */
export interface UnsavedChanges {
  readonly base: Pipeline
  readonly fields: Partial<Spec>
}

export interface Edit {
  /** Null: no changes. */
  readonly draft: UnsavedChanges | null
  /** The pipeline with the changes applied. */
  readonly spec: Spec
  change(some: Partial<Spec>): void
  discard(): void
}

/** One draft per pipeline, shared by all tabs of its page. */
export function useEdit(pipeline: Pipeline): Edit {
  const [draft, keep] = useUnsaved<UnsavedChanges>(`pipeline ${pipeline.id}`)
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

/** Only differing fields, so that changes by other users are not reverted. */
function changedFields(base: Spec, fields: Partial<Spec>): Partial<Spec> {
  return Object.fromEntries(
    Object.entries(fields).filter(([field, value]) => !isSame(value, base[field as SpecField])),
  )
}
