import { z } from 'zod'
import { camelCase } from '../../model/camel-case.js'
import {
  explainStaleness,
  type Freshness,
  rootOf,
  STALE_CODES,
  type StaleCause,
} from '../../model/freshness.js'
import { heldBackWire } from './run.js'
import { toWire } from './to-wire.js'

/** What the sentence of a cause is made of: which of these are given depends on the code. */
const causeFacts = {
  since: z.string().describe('When this began; RUNNER_SILENT: when its lease expires.'),
  runner: z.string().describe('The runner.'),
  ahead: z.number().describe('Older requests.'),
  running: z.number().describe('Runs in progress.'),
  attempt: z.number().describe('The attempt.'),
  error_code: z.string().describe('The code of the error.'),
  error: z.string().describe('The error.'),
  hint: z.string().describe('What to do about the error.'),
  tags: z.array(z.string()).describe('The tags that no runner takes.'),
  connection: z.string().describe('The connection.'),
  runs: z.number().describe('Runs on that connection.'),
  limit: z.number().describe('The limit of that connection.'),
  side: z.enum(['source', 'target']).describe('The database of the lock.'),
  pid: z.number().describe('The session that holds the lock or the checkpoint.'),
  application: z.string().describe('The application name of that session.'),
  table: z.string().describe('The locked table.'),
  reason: z.string().describe('Why the checkpoint is held back.'),
  seconds: z.number().describe('How long the run took, or has taken so far.'),
  share: z.number().describe('The part of the time of its batches, 0 to 1.'),
  finished: z.boolean().describe('Whether that run has ended.'),
}

const factsWire = z
  .object({
    upstreams: z
      .array(z.string())
      .describe('UPSTREAM: the mart that it reads, the one that this mart reads, and so on. Else empty.'),
    root: z
      .enum(STALE_CODES)
      .nullable()
      .describe(
        'The same as code, or for UPSTREAM the code of what makes the last of them too old; the other facts are about it. null: not known.',
      ),
    ...(Object.fromEntries(
      Object.entries(causeFacts).map(([name, type]) => [name, type.nullish().describe(type.description!)]),
    ) as {
      [F in keyof typeof causeFacts]: z.ZodOptional<z.ZodNullable<(typeof causeFacts)[F]>>
    }),
  })
  .describe('The facts of the sentence, for texts in other languages. Which are given depends on the code.')

/** Field by field: other fields that the meta store keeps are not part of the contract. */
function factsToWire(cause: StaleCause): z.infer<typeof factsWire> {
  const { upstreams, root } = rootOf(cause)
  const values: Record<string, unknown> = { ...root }
  const known = Object.keys(causeFacts)
    .map((name) => [name, values[camelCase(name)]] as const)
    .filter(([, value]) => value != null)
  return { upstreams: [...upstreams], root: root?.code ?? null, ...Object.fromEntries(known) }
}

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
        facts: factsWire,
      })
      .nullable()
      .describe('Why it is too old. null: it is not.'),
    held_back: heldBackWire
      .extend({ age_seconds: z.number().nullable().describe('How long that transaction has been open.') })
      .nullable()
      .describe(
        'Why the checkpoint was held back in the last run, so that the next one reads rows again; this does not mean that the data is too old. null: it was not.',
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
        cause: {
          code: 'NO_RUNNER',
          detail: 'No runner is alive.',
          hint: 'Start one with "vitrina runner".',
          facts: { upstreams: [], root: 'NO_RUNNER' },
        },
        held_back: null,
      },
    ],
  })

export function freshnessToWire(freshness: Freshness) {
  const { ageSeconds, budgetSeconds, cause, heldBack } = freshness
  const isKnown = ageSeconds !== null && budgetSeconds !== null
  return toWire(freshnessWire, freshness, {
    budget_left_seconds: isKnown ? budgetSeconds - ageSeconds : null,
    cause:
      cause === null ? null : { code: cause.code, ...explainStaleness(cause), facts: factsToWire(cause) },
    held_back:
      heldBack === null ? null : { ...toWire(heldBackWire, heldBack), age_seconds: heldBack.seconds },
  })
}
