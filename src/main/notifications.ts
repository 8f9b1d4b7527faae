import type { Settings } from '../config/settings.js'
import { bareJob, runEvent } from '../lineage/open-lineage.js'
import type { OutboxEvent } from '../model/notification.js'
import { withoutTrailingSlashes } from '../model/trailing-slashes.js'
import {
  type AllowedHosts,
  ChannelsWithOpenLineage,
  ConfiguredChannels,
  NotificationDispatcher,
  plainHost,
} from '../notify/index.js'
import type { Catalog } from '../ports/catalog.js'
import type { Channels } from '../ports/channels.js'
import type { Lineage, OpenLineageEvent, RunEventType, RunFacts } from '../ports/lineage.js'
import type { Database } from '../store/database.js'
import { OutboxRepository } from '../store/outbox.repository.js'
import { NotificationEvents } from '../telemetry/notification-events.js'
import type { Telemetry } from './telemetry.js'

const POLL_MS = 1_000

export function createChannels(settings: Settings): Channels {
  return new ConfiguredChannels(settings.channels, {
    allowed: allowedHosts(settings),
    publicUrl: publicUrl(settings),
  })
}

/** How long the catalogs of the source may take; a run is then reported without its datasets. */
const LINEAGE_MS = 8_000

export interface RunSources {
  readonly catalog: Pick<Catalog, 'getPipeline'>
  readonly lineage: Lineage
}

/** The channels, and the OpenLineage receiver if one is configured. */
export function withOpenLineage(settings: Settings, channels: Channels, sources: RunSources): Channels {
  const { OPENLINEAGE_URL: url, OPENLINEAGE_API_KEY: apiKey } = settings
  if (url === undefined) return new ChannelsWithOpenLineage(channels, null)
  const describe = (event: OutboxEvent) => describeRun(event, sources)
  return new ChannelsWithOpenLineage(channels, { url, apiKey, allowed: allowedHosts(settings), describe })
}

/** As the pipeline is configured now. A pipeline that was deleted, or cannot be read, has no datasets. */
async function describeRun(event: OutboxEvent, { catalog, lineage }: RunSources): Promise<OpenLineageEvent> {
  const facts = factsOf(event)
  const bare = () => runEvent(bareJob(event.pipelineName), facts)
  const pipeline = await catalog.getPipeline(event.pipelineId)
  if (pipeline === null) return bare()
  return lineage.runEvent(pipeline, facts, AbortSignal.timeout(LINEAGE_MS)).catch(bare)
}

function factsOf({ event, at, runId, data }: OutboxEvent): RunFacts {
  const text = (name: string) => (typeof data[name] === 'string' ? data[name] : null)
  const error = text('error')
  return {
    type: event as RunEventType,
    at,
    runId: runId ?? '',
    parent: text('parent'),
    rowsWritten: Number(data.rows_written ?? 0),
    error: error === null ? null : [text('code'), error].filter((part) => part !== null).join(': '),
  }
}

function allowedHosts({ VITRINA_NOTIFY_ALLOWED_HOSTS: hosts }: Settings): AllowedHosts {
  return hosts === undefined ? null : new Set(hosts.map(plainHost))
}

function publicUrl(settings: Settings): string {
  const { VITRINA_PUBLIC_URL: own, VITRINA_URL: url, VITRINA_HOST: host, VITRINA_PORT: port } = settings
  return own ?? withoutTrailingSlashes(url ?? `http://${host}:${port}`)
}

export function createDispatcher(
  settings: Settings,
  { database, channels }: { readonly database: Database; readonly channels: Channels },
  { log, meter }: Pick<Telemetry, 'log' | 'meter'>,
): NotificationDispatcher {
  return new NotificationDispatcher({
    outbox: new OutboxRepository(database),
    channels,
    events: new NotificationEvents(log, meter),
    mostAttempts: settings.VITRINA_NOTIFY_ATTEMPTS,
    retrySeconds: settings.VITRINA_NOTIFY_RETRY_SECONDS,
    pollMs: POLL_MS,
  })
}
