import { z } from 'zod'
import type { Mistake } from '../../model/errors.js'
import type { ComingRun } from '../../model/schedule.js'

const MOST = 50

export const scheduleQuery = z.strictObject({
  schedule_interval: z.string().max(200).describe('15m, 1h30m, PT15M or a cron expression.'),
  schedule_timezone: z.string().max(100).default('UTC').describe('The zone in which it is read.'),
  limit: z
    .string()
    .regex(/^\d{1,2}$/, `must be a whole number from 1 to ${MOST}`)
    .transform(Number)
    .pipe(z.int().min(1).max(MOST))
    .default(5)
    .describe('How many runs to tell.'),
})

export const scheduleWire = z.object({
  valid: z.boolean().describe('The schedule can be read.'),
  errors: z
    .array(
      z.object({
        field: z.string().describe('The field it speaks of.'),
        code: z.string().describe('What is wrong, as a name that does not change.'),
        message: z.string().describe('The facts in a sentence.'),
      }),
    )
    .describe('Why it cannot.'),
  runs: z
    .array(
      z.object({
        at: z.string().describe('When a run is due, in UTC.'),
        local: z.string().describe('What a clock in the zone shows then, with its distance to UTC.'),
        clock_change_minutes: z
          .number()
          .describe(
            'By how much the clocks of the zone go forward before it, since the run before; usually 0.',
          ),
      }),
    )
    .describe('The next runs, if it began now; an interval counts from the run before.'),
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
