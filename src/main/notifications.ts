import type { Settings } from '../config/settings.js'
import { withoutTrailingSlashes } from '../model/trailing-slashes.js'
import { type AllowedHosts, ConfiguredChannels, Dispatcher, plainHost } from '../notify/index.js'
import type { Channels } from '../ports/channels.js'
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
): Dispatcher {
  return new Dispatcher({
    outbox: new OutboxRepository(database),
    channels,
    events: new NotificationEvents(log, meter),
    mostAttempts: settings.VITRINA_NOTIFY_ATTEMPTS,
    retrySeconds: settings.VITRINA_NOTIFY_RETRY_SECONDS,
    pollMs: POLL_MS,
  })
}
