import type { Pipeline, PipelinePatch } from '../../api/wire.js'

/** The simple fields as they are typed. */
export interface ConfigForm {
  readonly description: string
  readonly batch_size: string
  readonly schedule_interval: string
  readonly schedule_timezone: string
  readonly quarantine_limit: string
  readonly delete_brake: string
  readonly deletes: Pipeline['deletes']
  readonly enabled: boolean
}

export function formOf(pipeline: Pipeline): ConfigForm {
  return {
    description: pipeline.description,
    batch_size: String(pipeline.batch_size),
    schedule_interval: pipeline.schedule_interval ?? '',
    schedule_timezone: pipeline.schedule_timezone,
    quarantine_limit: String(pipeline.quarantine_limit),
    delete_brake: String(pipeline.delete_brake),
    deletes: pipeline.deletes,
    enabled: pipeline.enabled,
  }
}

/** Only what was typed: what somebody else changes meanwhile is not undone by the way. */
export function patchOfForm(edits: Partial<ConfigForm>): PipelinePatch {
  const { batch_size, schedule_interval, quarantine_limit, delete_brake, ...rest } = edits
  return {
    ...rest,
    ...(batch_size === undefined ? {} : { batch_size: batch_size === 'auto' ? 'auto' : Number(batch_size) }),
    ...(schedule_interval === undefined ? {} : { schedule_interval: schedule_interval.trim() || null }),
    ...(quarantine_limit === undefined ? {} : { quarantine_limit: Number(quarantine_limit) }),
    ...(delete_brake === undefined ? {} : { delete_brake: Number(delete_brake) }),
  }
}

/** Fields with a text that is no number. Whether a number is allowed, the server says in the review. */
export function wrongFields(edits: Partial<ConfigForm>): ReadonlySet<string> {
  const isNumber = (text: string) => text.trim() !== '' && Number.isFinite(Number(text))
  const wrong = (['batch_size', 'quarantine_limit', 'delete_brake'] as const).filter((field) => {
    const text = edits[field]
    return text !== undefined && !(field === 'batch_size' && text === 'auto') && !isNumber(text)
  })
  return new Set(wrong)
}
