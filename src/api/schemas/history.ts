import { z } from 'zod'
import type { AuditEntry, FleetRunner, PipelineVersion } from '../../model/history.js'
import { text } from '../../model/text.js'
import { moment } from './moment.js'
import { pageQuery, pageSchema } from './page.js'
import { toWire } from './to-wire.js'

const when = (what: string) => z.string().describe(`When ${what}.`)
const diff = z
  .record(z.string(), z.object({ old: z.unknown(), new: z.unknown() }))
  .describe('Each changed field, with its old and its new value.')

export const versionWire = z
  .object({
    version: z.number().describe('The version number, counted for each pipeline.'),
    author: z.string().describe('Who created it.'),
    at: when('it was created'),
    spec: z.record(z.string(), z.unknown()).describe('The whole configuration, including tasks.'),
    diff,
  })
  .meta({ id: 'PipelineVersion' })
export const versionPage = pageSchema(versionWire)

export function versionToWire({
  version,
  author,
  at,
  spec,
  diff,
}: PipelineVersion): z.infer<typeof versionWire> {
  return { version, author, at, spec, diff }
}

const time = (what: string) => moment.optional().describe(`Only actions ${what}.`)
const auditFilter = {
  id: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the number of an entry')
    .optional()
    .describe('Only this entry.'),
  target_id: text(1, 200).optional().describe('Only actions on the object with this id.'),
  pipeline_id: z
    .guid()
    .optional()
    .describe('Only actions on this pipeline, its runs and its quarantined rows.'),
  action: text(1, 100)
    .optional()
    .describe(
      'Only actions with this name; with a trailing dot, such as pipeline., all actions with this prefix.',
    ),
  actor: text(1, 300)
    .optional()
    .describe('Only actions by users whose name contains this, case-insensitive.'),
  request_id: text(1, 128).optional().describe('Only actions of this request.'),
  since: time('at or after this time'),
  until: time('before this time'),
}
export const listAuditQuery = z.strictObject({ ...pageQuery, ...auditFilter })
export const auditCsvQuery = z.strictObject(auditFilter)

/** With the names of the port. */
export function toAuditFilter({
  target_id: targetId,
  pipeline_id: pipelineId,
  request_id: requestId,
  ...rest
}: z.infer<typeof auditCsvQuery>) {
  return { ...rest, targetId, pipelineId, requestId }
}
const auditWire = z.object({
  id: z.string().describe('The number of the entry.'),
  at: when('it happened'),
  actor: z.string().describe('Who did it.'),
  action: z.string().describe('The action, such as pipeline.change.'),
  target_kind: z.string().describe('pipeline, run, quarantine or token.'),
  target_id: z.string().describe('The id of the object.'),
  target_name: z.string().nullable().describe('Its name at that time.'),
  diff: z.record(z.string(), z.unknown()).describe('What changed.'),
  request_id: z.string().nullable().describe('The request that did it.'),
})
export const auditPage = pageSchema(auditWire)

export function auditToWire(entry: AuditEntry) {
  return toWire(auditWire, entry, { id: String(entry.id) })
}

const holdWire = z.object({
  pipeline_id: z.string().describe('The id of the pipeline.'),
  name: z.string().describe('Its name.'),
  status: z.string().describe('Its status.'),
  run_id: z.string().describe('The run in progress.'),
  lease_until: z.string().nullable().describe('When the lease ends unless it is renewed.'),
})
const runnerWire = z.object({
  id: z.string().describe('Unique for each start of a runner.'),
  host: z.string().describe('The host name.'),
  pid: z.number().describe('The process id.'),
  version: z.string().describe('Its version of Vitrina.'),
  concurrency: z.number().describe('The number of pipelines it runs at once.'),
  tags: z
    .record(z.string(), z.number())
    .nullable()
    .describe('Its slots by tag (RUNNER_TAGS); `*`: pipelines without such a tag. null: every pipeline.'),
  connection_limits: z
    .record(z.string(), z.number())
    .describe('Runs at once by connection, over all runners (CONNECTION_LIMITS).'),
  started_at: when('it started'),
  heartbeat_at: when('it was last seen'),
  heartbeat_age_ms: z.number().describe('How long ago that was, by the clock of the database.'),
  stopped_at: z.string().nullable().describe('When it stopped normally.'),
  holds: z.array(holdWire).describe('The pipelines it holds.'),
})
export const runnersWire = z.object({ items: z.array(runnerWire).describe('Live runners first.') })

export function runnerToWire(runner: FleetRunner) {
  return toWire(runnerWire, runner, { holds: runner.holds.map((held) => toWire(holdWire, held)) })
}
