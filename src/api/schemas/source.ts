import { z } from 'zod'
import { type CapturedSource, type IdentityAdvice, SOURCE_STATES } from '../../model/source.js'
import { redactText } from '../../telemetry/redact.js'
import { SOURCE_EXAMPLE } from './examples.js'

export const identityWire = z.object({
  table: z.string().describe('The table, with its schema.'),
  identity: z
    .enum(['primary key', 'index', 'full', 'nothing'])
    .describe('Its replica identity: which columns the WAL has of a row that is updated or deleted.'),
  columns: z.array(z.string()).describe('The columns of the identity.'),
  needed: z.array(z.string()).describe('The columns that are needed to follow a changed row.'),
  is_lossless: z.boolean().describe('Whether every UPDATE and DELETE can be followed.'),
  statements: z
    .array(z.string())
    .describe('Statements that make it lossless; empty: it is lossless, or no statement makes it so.'),
  reason: z.string().nullable().describe('Why it is not lossless.'),
  cost: z.string().nullable().describe('The cost of the statements.'),
  until: z.string().nullable().describe('What happens until then.'),
})

export function identityToWire({ isLossless, ...rest }: IdentityAdvice): z.infer<typeof identityWire> {
  return {
    ...rest,
    columns: [...rest.columns],
    needed: [...rest.needed],
    statements: [...rest.statements],
    is_lossless: isLossless,
  }
}

const pipeline = z.object({
  id: z.string().describe('The id of the pipeline.'),
  name: z.string().describe('Its name.'),
  is_live: z.boolean().describe('Whether commits are applied at once.'),
  position: z.string().nullable().describe('Its position in the WAL of the source; null: none reported yet.'),
  lag_bytes: z
    .number()
    .nullable()
    .describe(
      'WAL between its position and the end of the change log; null: unknown, the next run compares everything.',
    ),
  moved_at: z.string().nullable().describe('When it last reported its position.'),
})

export const sourceWire = z
  .object({
    connection: z.string().describe('main, or the name of a connection.'),
    state: z
      .enum(SOURCE_STATES)
      .describe(
        'capturing: a runner writes the change log. failing: the last attempt failed. uncaptured: no runner captures. unused: no pipeline has run yet.',
      ),
    slot: z.string().nullable().describe('The name of the replication slot; null: none is planned yet.'),
    publication: z.string().nullable().describe('The name of the publication.'),
    way: z
      .enum(['stream', 'peek'])
      .nullable()
      .describe(
        'stream: over a replication connection. peek: with SQL functions, behind a pooler. null: not captured.',
      ),
    owner: z.string().nullable().describe('The runner that captures; null: none.'),
    generation: z.string().nullable().describe('Changes with every new slot.'),
    generation_at: z.string().nullable().describe('When the current slot was created.'),
    lag_bytes: z.number().nullable().describe('WAL that was not captured yet, as last seen.'),
    held_bytes: z.number().nullable().describe('WAL that the source keeps for the slot, as last seen.'),
    upto: z.string().nullable().describe('The change log is complete up to this WAL position.'),
    error: z
      .object({
        code: z.string().describe('A stable code for programs.'),
        message: z.string().describe('The facts and the remedy.'),
        since: z.string().describe('When it first occurred.'),
      })
      .nullable()
      .describe('Why capturing fails; null: it does not.'),
    lost: z
      .object({
        reason: z.string().describe('Why the slot could not be used.'),
        at: z.string().describe('When this was found.'),
      })
      .nullable()
      .describe('The last time a slot was lost. All pipelines have compared their marts since, or will.'),
    updated_at: z.string().nullable().describe('When these figures were last reported.'),
    tables: z
      .array(identityWire)
      .nullable()
      .describe(
        'The tables of pipelines that have run, with their identity; null: the source did not respond.',
      ),
    pipelines: z.array(pipeline).describe('The pipelines with capture wal that read from it.'),
  })
  .meta({ examples: [SOURCE_EXAMPLE] })

export const sourcesWire = z.object({
  items: z.array(sourceWire).describe('The main database first, then by name.'),
})

export interface ShownSource {
  readonly source: CapturedSource
  /** Null: the source did not respond. */
  readonly identities: readonly IdentityAdvice[] | null
}

export function sourceToWire({ source, identities }: ShownSource): z.infer<typeof sourceWire> {
  const { generationAt, lagBytes, heldBytes, updatedAt, error, pipelines, tables: _, ...rest } = source
  return {
    ...rest,
    generation_at: generationAt,
    lag_bytes: lagBytes,
    held_bytes: heldBytes,
    updated_at: updatedAt,
    error: error === null ? null : { ...error, message: redactText(error.message) },
    tables: identities === null ? null : identities.map(identityToWire),
    pipelines: pipelines.map(({ isLive, lagBytes, movedAt, ...one }) => ({
      ...one,
      is_live: isLive,
      lag_bytes: lagBytes,
      moved_at: movedAt,
    })),
  }
}
