import { z } from 'zod'
import type { ConnectionTest, KnownConnection } from '../services/connections.js'

/** The maximum number of pipelines listed for each connection. */
const MOST_USES = 200

const useWire = z.object({
  id: z.string().describe('The id of the pipeline.'),
  name: z.string().describe('Its name.'),
  reads: z.boolean().describe('It reads from this connection.'),
  writes: z.boolean().describe('It writes to this connection.'),
})

const connectionWire = z
  .object({
    name: z.string().describe('main, the name of another database, or the kind of a sink.'),
    kind: z.string().describe('postgresql, elasticsearch, clickhouse or s3.'),
    address: z.string().nullable().describe('The address, without login and password.'),
    logins: z.array(z.string()).describe('The login used for the test.'),
    state: z
      .enum(['reachable', 'unreachable', 'not_configured', 'unknown'])
      .describe('unknown: a pipeline uses it, but this process has no address for it.'),
    version: z.string().nullable().describe('The product and version that the server reports.'),
    latency_ms: z.number().nullable().describe('Time until its first response, including connecting.'),
    detail: z.string().nullable().describe('The result, or what is missing.'),
    error: z
      .object({
        code: z.string().describe('The code of the error.'),
        message: z.string().describe('What is wrong.'),
        hint: z.string().describe('How to fix it.'),
      })
      .nullable()
      .describe('Why it is unreachable.'),
    allow_lists: z
      .array(
        z.object({
          setting: z.string().describe('The setting that restricts it.'),
          names: z.array(z.string()).describe('Exact names or patterns.'),
        }),
      )
      .describe('What pipelines may read and write there.'),
    pipelines: z.array(useWire).describe(`The pipelines that use it, by name, the first ${MOST_USES}.`),
    pipelines_count: z.number().describe('The number of pipelines that use it.'),
  })
  .meta({ id: 'Connection' })

export const connectionsWire = z.object({
  looked_at: z.string().describe('When it was tested.'),
  looked_by: z
    .object({
      process: z.literal('api').describe('Runners are separate processes and may reach other servers.'),
      host: z.string().describe('The host name.'),
      pid: z.number().describe('The process id.'),
    })
    .describe('The process that tested it.'),
  items: z.array(connectionWire).describe('The main database first.'),
})

export function connectionsToWire({
  at,
  host,
  pid,
  connections,
}: ConnectionTest): z.infer<typeof connectionsWire> {
  return {
    looked_at: at.toISOString(),
    looked_by: { process: 'api', host, pid },
    items: connections.map(connectionToWire),
  }
}

function connectionToWire(connection: KnownConnection): z.infer<typeof connectionWire> {
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
