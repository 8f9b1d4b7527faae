import { z } from 'zod'
import type { KnownConnection, Look } from '../services/connections.js'

/** Names of pipelines that are told for each connection. */
const MOST_USES = 200

const useWire = z.object({
  id: z.string().describe('The id of the pipeline.'),
  name: z.string().describe('Its name.'),
  reads: z.boolean().describe('It reads from there.'),
  writes: z.boolean().describe('It writes there.'),
})

const connectionWire = z
  .object({
    name: z.string().describe('main, the name of a further database, or the kind of a sink.'),
    kind: z.string().describe('postgresql, elasticsearch, clickhouse or s3.'),
    address: z.string().nullable().describe('Where it is, without login and password.'),
    logins: z.array(z.string()).describe('Whom it was tried as.'),
    state: z
      .enum(['reachable', 'unreachable', 'not_configured', 'unknown'])
      .describe('unknown: a pipeline names it, and this process has no address for it.'),
    version: z.string().nullable().describe('What the server says it is.'),
    latency_ms: z.number().nullable().describe('Until its first answer, connecting included.'),
    detail: z.string().nullable().describe('What it said, or what is missing.'),
    error: z
      .object({
        code: z.string().describe('The code of the error.'),
        message: z.string().describe('What is wrong.'),
        hint: z.string().describe('What to do.'),
      })
      .nullable()
      .describe('Why it did not answer.'),
    allow_lists: z
      .array(
        z.object({
          setting: z.string().describe('The setting that says so.'),
          names: z.array(z.string()).describe('Exact names or patterns.'),
        }),
      )
      .describe('What pipelines may read and write there.'),
    pipelines: z.array(useWire).describe(`Who uses it, by name, the first ${MOST_USES}.`),
    pipelines_count: z.number().describe('How many use it.'),
  })
  .meta({ id: 'Connection' })

export const connectionsWire = z.object({
  looked_at: z.string().describe('When it was tried.'),
  looked_by: z
    .object({
      process: z.literal('api').describe('Runners are other processes, and may see other servers.'),
      host: z.string().describe('Where it runs.'),
      pid: z.number().describe('Its process there.'),
    })
    .describe('Who tried.'),
  items: z.array(connectionWire).describe('The main database first.'),
})

export function lookToWire({ at, host, pid, connections }: Look): z.infer<typeof connectionsWire> {
  return {
    looked_at: at.toISOString(),
    looked_by: { process: 'api', host, pid },
    items: connections.map(toWire),
  }
}

function toWire(connection: KnownConnection): z.infer<typeof connectionWire> {
  return {
    name: connection.name,
    kind: connection.kind,
    address: connection.address,
    logins: [...connection.logins],
    state: connection.state,
    version: connection.version,
    latency_ms: connection.latencyMs,
    detail: connection.detail,
    error: connection.failure,
    allow_lists: connection.allowLists.map(({ setting, names }) => ({ setting, names: [...names] })),
    pipelines: connection.uses.slice(0, MOST_USES),
    pipelines_count: connection.uses.length,
  }
}
