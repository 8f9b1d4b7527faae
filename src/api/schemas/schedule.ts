import { z } from 'zod'
import type { Mistake } from '../../model/errors.js'
import type { ComingRun } from '../../model/schedule.js'

const MOST = 50

export const scheduleQuery = z.strictObject({
  schedule_interval: z.string().max(200).describe('15m, 1h30m, PT15M or a cron expression.'),
  schedule_timezone: z.string().max(100).default('UTC').describe('The time zone of the schedule.'),
  limit: z
    .string()
    .regex(/^\d{1,2}$/, `must be a whole number from 1 to ${MOST}`)
    .transform(Number)
    .pipe(z.int().min(1).max(MOST))
    .default(5)
    .describe('The number of runs to return.'),
})

export const scheduleWire = z.object({
  valid: z.boolean().describe('Whether the schedule is valid.'),
  errors: z
    .array(
      z.object({
        field: z.string().describe('The field it refers to.'),
        code: z.string().describe('A stable code for programs.'),
        message: z.string().describe('The facts in a sentence.'),
      }),
    )
    .describe('Why it is invalid.'),
  runs: z
    .array(
      z.object({
        at: z.string().describe('When a run is due, in UTC.'),
        local: z.string().describe('The local time in the zone, with its offset from UTC.'),
        clock_change_minutes: z
          .number()
          .describe(
            'How far the clocks of the zone move forward between the previous run and this one; usually 0.',
          ),
      }),
    )
    .describe('The next runs, if it started now; an interval counts from the previous run.'),
})

export function scheduleToWire(
  errors: readonly Mistake[],
  runs: readonly ComingRun[],
): z.infer<typeof scheduleWire> {
  return {
    valid: errors.length === 0,
    errors: errors.map(({ field, code, message }) => ({ field, code, message })),
    runs: runs.map(({ at, local, clockChange }) => ({
      at: at.toISOString().replace('Z', '000Z'),
      local,
      clock_change_minutes: clockChange,
    })),
  }
}
