import type { AuditEntry } from '../../api/wire.js'
import type { FieldChanges } from '../../components/DiffView.js'

/** The fields that changed. A pipeline that is new or gone changed in all of them: that is its configuration, no change. */
export function changesOf({ action, diff }: Pick<AuditEntry, 'action' | 'diff'>): FieldChanges {
  if (action === 'pipeline.create' || action === 'pipeline.delete') return {}
  return fieldsOf(diff)
}

export function fieldsOf(diff: AuditEntry['diff']): FieldChanges {
  return Object.fromEntries(Object.entries(diff).filter(([, value]) => isChange(value))) as FieldChanges
}

/** Everything else that was written down: how long an old value lives, which run was requested. */
export function factsOf({ diff }: Pick<AuditEntry, 'diff'>): [name: string, value: string][] {
  return Object.entries(diff)
    .filter(([, value]) => !isChange(value) && value !== null)
    .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)])
}

function isChange(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'old' in value && 'new' in value
}

/** Times are written as the API writes all of them; people read them in their own zone. */
export function isMoment(value: string): boolean {
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)
}
