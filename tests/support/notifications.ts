import { randomBytes, randomUUID } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { readSettings } from '../../src/config/settings.js'
import { createChannels } from '../../src/main/notifications.js'
import { ERRORS, type ErrorCode, vtr } from '../../src/model/errors.js'
import { NotificationDispatcher } from '../../src/notify/index.js'
import { Database } from '../../src/store/database.js'
import { OutboxRepository } from '../../src/store/outbox.repository.js'
import { createLog } from '../../src/telemetry/log.js'
import { createMeter } from '../../src/telemetry/meter.js'
import { NotificationEvents } from '../../src/telemetry/notification-events.js'
import { aPipeline } from './builders.js'
import type { TestDatabase } from './database.js'

export const SECRET = `whsec_${randomBytes(32).toString('base64')}`

/** Settings of a webhook channel named "hook". */
export function webhookEnv(url: string): Record<string, string> {
  return {
    VITRINA_CHANNELS: JSON.stringify({ hook: { type: 'webhook', url, secret: SECRET } }),
    VITRINA_NOTIFY_ALLOWED_HOSTS: '127.0.0.1,localhost',
    VITRINA_PUBLIC_URL: 'https://vitrina.example.com',
  }
}

interface RuleColumns {
  readonly name?: string
  readonly events?: readonly string[]
  readonly pipelines?: readonly string[]
  readonly tags?: readonly string[]
  readonly channel?: string
  readonly quiet_from?: string
  readonly quiet_to?: string
  readonly quiet_timezone?: string
  readonly group_seconds?: number
  readonly repeat_seconds?: number
  readonly max_per_hour?: number
  readonly enabled?: boolean
}

/** A rule that sends at once, unless its columns say otherwise. Returns its id. */
export async function aRule(database: TestDatabase, columns: RuleColumns = {}): Promise<string> {
  const row = {
    name: randomUUID(),
    events: ['failed', 'recovered'],
    channel: 'hook',
    group_seconds: 0,
    repeat_seconds: 0,
    ...columns,
  }
  const names = Object.keys(row)
  const [made] = await database.query<{ id: string }>(
    `INSERT INTO etl.etl_notification_rules (${names.join(', ')})
     VALUES (${names.map((_, n) => `$${n + 1}`).join(', ')}) RETURNING id`,
    Object.values(row),
  )
  return made!.id
}

/** A pipeline whose runs end as a test says, without a runner. */
export async function aReportingPipeline(database: TestDatabase, name?: string) {
  const { id, spec } = await aPipeline(database, name === undefined ? {} : { name })
  const end = async (status: 'SUCCESS' | 'FAILED', code: string | null = null) => {
    const run = randomUUID()
    await database.query(
      "INSERT INTO etl.etl_runs (id, pipeline_id, status, started_at) VALUES ($1, $2, 'RUNNING', clock_timestamp())",
      [run, id],
    )
    // As a runner stores it: by its number.
    const stored = code !== null && code in ERRORS ? vtr(code as ErrorCode) : code
    await database.query(
      'UPDATE etl.etl_runs SET status = $2, finished_at = clock_timestamp(), error = $3, error_code = $4, error_hint = $5 WHERE id = $1',
      [run, status, ...(code === null ? [null, null, null] : [`It failed: ${code}.`, stored, 'Try this.'])],
    )
    return run
  }
  return {
    id,
    name: spec.name,
    fail: (code = 'SOURCE_QUERY_FAILED') => end('FAILED', code),
    succeed: () => end('SUCCESS'),
  }
}

interface DispatcherSetup {
  readonly env: Readonly<Record<string, string>>
  readonly mostAttempts?: number
  readonly retrySeconds?: number
  readonly now?: () => Date
}

/** A dispatcher with the login of the API, that works only when `deliver` is called. */
export function aDispatcher(database: TestDatabase, setup: DispatcherSetup): NotificationDispatcher {
  const pool = new Database(database.loginUrl('meta'), { name: 'vitrina-api', size: 4 })
  onTestFinished(() => pool.close())
  const { mostAttempts = 10, retrySeconds = 0 } = setup
  return new NotificationDispatcher({
    outbox: new OutboxRepository(pool, setup.now === undefined ? {} : { now: setup.now }),
    channels: createChannels(readSettings({ ...setup.env })),
    events: new NotificationEvents(
      createLog({ service: 'api', version: 'test', level: 'silent', format: 'json' }),
      createMeter({ version: 'test' }),
    ),
    mostAttempts,
    retrySeconds,
    pollMs: 60_000,
  })
}
