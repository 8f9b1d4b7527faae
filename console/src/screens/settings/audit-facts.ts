import type { AuditEntry } from '../../api/wire.js'
import type { FieldChanges } from '../../components/text/DiffView.js'

/** The changed fields. Not for new and deleted pipelines, where that would be the whole configuration. */
export function changesOf({ action, diff }: Pick<AuditEntry, 'action' | 'diff'>): FieldChanges {
  if (action === 'pipeline.create' || action === 'pipeline.delete') return {}
  return fieldsOf(diff)
}

export function fieldsOf(diff: AuditEntry['diff']): FieldChanges {
  return Object.fromEntries(Object.entries(diff).filter(([, value]) => isChange(value))) as FieldChanges
}

/** All other details: how long an old value is valid, which run was requested. */
export function factsOf({ diff }: Pick<AuditEntry, 'diff'>): [name: string, value: string][] {
  return Object.entries(diff)
    .filter(([, value]) => !isChange(value) && value !== null)
    .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)])
}

function isChange(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'old' in value && 'new' in value
}

/** A time in the format of the API, which is shown in the selected zone. */
export function isMoment(value: string): boolean {
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)
}
