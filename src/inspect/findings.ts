import type { Rejection } from '../guard/index.js'
import { VitrinaError } from '../model/errors.js'
import { type Pipeline, readerField, readsTable } from '../model/pipeline.js'
import { nextRun } from '../model/schedule.js'
import { PLAN_HINT, savedPlanMistakes } from '../model/task-plan.js'
import type { Finding } from '../model/validation.js'
import { inspectionError } from '../postgres/errors.js'
import { transformField } from './transformed-rows.js'

const NO_SUCH_COLUMN = '42703'

export function planFindings(pipeline: Pipeline): Finding[] {
  return savedPlanMistakes(pipeline).map((found) => ({ ...found, hint: PLAN_HINT, position: null }))
}

/** An invalid schedule starts no run. A schedule set with SQL has not been checked before. */
export function scheduleFindings({ scheduleInterval, scheduleTimezone }: Pipeline): Finding[] {
  if (scheduleInterval === null) return []
  try {
    nextRun(scheduleInterval, scheduleTimezone, new Date())
    return []
  } catch (error) {
    return [asFinding(error, (error as VitrinaError).mistakes[0]?.field ?? 'schedule_interval')]
  }
}

export function asFindings(problems: Rejection['problems'], pipeline: Pipeline): Finding[] {
  const field = readerField(pipeline)
  if (!readsTable(pipeline))
    return problems.map(({ code, message, hint, position, sqlstate = null }) => ({
      code,
      message,
      hint,
      sqlstate,
      field,
      position,
    }))
  return problems.map(({ code, message, hint, sqlstate = null }) => ({
    code,
    message,
    hint,
    sqlstate,
    field: sqlstate === NO_SUCH_COLUMN ? 'source_columns' : field,
    position: null,
  }))
}

/** Sinks and warnings refer to the query; this maps them to the field that contains it. */
export function inReaderField(findings: readonly Finding[], pipeline: Pipeline): Finding[] {
  return findings.map((finding) =>
    finding.field === 'source_query' ? { ...finding, field: readerField(pipeline) } : finding,
  )
}

const FIELDS: Record<string, string> = {
  KEY_NULL: 'incremental_key',
  KEY_UNORDERED: 'incremental_key',
  HORIZON_BLIND: 'capture',
  CAPTURE_UNSUPPORTED: 'capture',
  TARGET_MISMATCH: 'target_table',
  TARGET_KEY_MISSING: 'key_columns',
  TARGET_REFUSED: 'target_table',
  SINK_MISSING: 'target_table',
  SINK_UNAVAILABLE: 'target_table',
  SINK_LOGIN: 'target_table',
  SINK_REFUSED: 'target_table',
  SINK_OVERLOADED: 'target_table',
  TARGET_FAILED: 'target_table',
}

export function fieldOf(error: unknown, pipeline: Pipeline): string {
  const known = error instanceof VitrinaError ? (error.mistakes[0]?.field ?? FIELDS[error.code]) : undefined
  return known ?? transformField(error, pipeline) ?? readerField(pipeline)
}

export function asFinding(error: unknown, field: string): Finding {
  const { code, message, hint, sqlstate } = inspectionError(error, 'The check', 'source')
  return { code, message, hint, sqlstate, field, position: null }
}
