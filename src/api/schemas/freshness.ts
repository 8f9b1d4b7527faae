import { z } from 'zod'
import { explainStaleness, type Freshness, STALE_CODES } from '../../model/freshness.js'
import { heldBackWire } from './run.js'
import { toWire } from './to-wire.js'

export const freshnessWire = z
  .object({
    data_as_of: z
      .string()
      .nullable()
      .describe(
        'The mart contains everything that was committed in the source before this time. null: no run has succeeded.',
      ),
    age_seconds: z.number().nullable().describe('How old the data is. null: no run has succeeded.'),
    budget_seconds: z.number().nullable().describe('How old it may become. null: the pipeline has no limit.'),
    budget_left_seconds: z
      .number()
      .nullable()
      .describe('How much older it may become; negative: it is too old. null: not known, or no limit.'),
    needed_seconds: z
      .number()
      .nullable()
      .describe('How old it may become for the pipelines that follow it and for itself. null: no limit.'),
    needed_by: z
      .string()
      .nullable()
      .describe('The pipeline that follows it and needs newer data. null: its own limit is the tightest.'),
    breached: z.boolean().describe('Whether it is too old.'),
    due_at: z
      .string()
      .nullable()
      .describe('When the next run is requested so that it ends in time. null: by schedule or request only.'),
    cause: z
      .object({
        code: z.enum(STALE_CODES).describe('What prevents newer data.'),
        detail: z.string().describe('The same as a sentence.'),
        hint: z.string().describe('What to do.'),
      })
      .nullable()
      .describe('Why it is too old. null: it is not.'),
    held_back: heldBackWire
      .extend({ age_seconds: z.number().nullable().describe('How long that transaction has been open.') })
      .nullable()
      .describe(
        'What held the checkpoint back in the last run, so that the next one reads rows again; the data need not be too old. null: nothing.',
      ),
  })
  .meta({
    id: 'Freshness',
    examples: [
      {
        data_as_of: '2026-07-01T06:00:00.000000Z',
        age_seconds: 412,
        budget_seconds: 300,
        budget_left_seconds: -112,
        needed_seconds: 300,
        needed_by: null,
        breached: true,
        due_at: '2026-07-01T06:04:56.000000Z',
        cause: { code: 'NO_RUNNER', detail: 'No runner is alive.', hint: 'Start one with "vitrina runner".' },
        held_back: null,
      },
    ],
  })

export function freshnessToWire(freshness: Freshness) {
  const { ageSeconds, budgetSeconds, cause, heldBack } = freshness
  const isKnown = ageSeconds !== null && budgetSeconds !== null
  return toWire(freshnessWire, freshness, {
    budget_left_seconds: isKnown ? budgetSeconds - ageSeconds : null,
    cause: cause === null ? null : { code: cause.code, ...explainStaleness(cause) },
    held_back:
      heldBack === null ? null : { ...toWire(heldBackWire, heldBack), age_seconds: heldBack.seconds },
  })
}
