import type { Author } from '../../model/access.js'
import type { ChannelState, DeadMessage, NotificationRule, RuleSpec } from '../../model/notification.js'
import type { Page, PageRequest } from '../../ports/catalog.js'
import type { NotificationStore } from '../../ports/notification-store.js'
import type { Database, Queryable } from '../database.js'
import { RULE_COLUMNS, type RuleRow, toRule } from '../notification-rows.js'
import { writeAudit } from './audit.js'
import { pageOf, readCursor } from './page.js'

const FIELDS = [
  ...[
    'name',
    'enabled',
    'events',
    'pipelines',
    'tags',
    'channel',
    'quiet_from',
    'quiet_to',
    'quiet_timezone',
  ],
  'group_seconds',
  'repeat_seconds',
  'max_per_hour',
  'held_back_seconds',
]

/** The state of every channel that has messages. */
const CHANNEL_STATES = `
  SELECT m.channel, etl.rfc3339(max(m.settled_at) FILTER (WHERE m.status = 'SENT')) AS "lastSentAt",
         failed.last_error AS "lastError", etl.rfc3339(failed.attempted_at) AS "lastErrorAt",
         count(*) FILTER (WHERE m.status = 'PENDING')::integer AS pending,
         count(*) FILTER (WHERE m.status = 'DEAD')::integer AS dead
    FROM etl.etl_notification_messages m
    LEFT JOIN LATERAL (SELECT f.last_error, f.attempted_at FROM etl.etl_notification_messages f
                        WHERE f.channel = m.channel AND f.last_error IS NOT NULL AND f.attempted_at IS NOT NULL
                        ORDER BY f.attempted_at DESC LIMIT 1) AS failed ON true
   GROUP BY m.channel, failed.last_error, failed.attempted_at ORDER BY m.channel`

const MOST_AT_ONCE = 5_000
/** Rules are created under it ("rule" as four bytes). */
const LOCK = 0x72756c65

/**
 * Messages and their events are removed by the time at which the message was settled: an event that waited for long must
 * not be missing in a message that was given up today. The last failure and the last breach of freshness of a pipeline
 * are kept as long as pipeline and rule exist, so that the recovery is reported whenever it comes; not if the message was
 * given up, because then the recovery is not reported either.
 */
const FORGET = `
  WITH old_events AS (
    DELETE FROM etl.etl_outbox WHERE id IN (
      SELECT o.id FROM etl.etl_outbox o LEFT JOIN etl.etl_notification_messages m ON m.id = o.message_id
       WHERE (o.dropped OR m.id IS NULL AND o.message_id IS NOT NULL OR m.status IN ('SENT', 'DEAD', 'DISCARDED'))
         AND o.at < clock_timestamp() - make_interval(days => $1)
         AND coalesce(m.settled_at, o.at) < clock_timestamp() - make_interval(days => $1)
         AND (o.event NOT IN ('failed', 'brake', 'stale') OR m.status = 'DEAD'
              OR NOT EXISTS (SELECT FROM etl.etl_pipelines p WHERE p.id = o.pipeline_id)
              OR NOT EXISTS (SELECT FROM etl.etl_notification_rules r WHERE r.id = o.rule_id)
              OR EXISTS (
                SELECT FROM etl.etl_outbox newer
                 WHERE newer.rule_id = o.rule_id AND newer.pipeline_id = o.pipeline_id AND newer.id > o.id
                   AND newer.event IN ('failed', 'brake', 'stale', 'recovered')
                   AND (newer.event = 'recovered' OR (newer.event = 'stale') = (o.event = 'stale'))))
       LIMIT $2) RETURNING 1),
  old_messages AS (
    DELETE FROM etl.etl_notification_messages WHERE id IN (
      SELECT m.id FROM etl.etl_notification_messages m
       WHERE m.status IN ('SENT', 'DEAD', 'DISCARDED') AND m.settled_at < clock_timestamp() - make_interval(days => $1)
         AND NOT EXISTS (SELECT FROM etl.etl_outbox o WHERE o.message_id = m.id)
       LIMIT $2) RETURNING 1)
  SELECT greatest((SELECT count(*) FROM old_events), (SELECT count(*) FROM old_messages))::integer AS most`

export class CatalogNotificationsRepository implements NotificationStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async listRules(): Promise<NotificationRule[]> {
    const rows = await this.#database.query<RuleRow>(
      `SELECT ${RULE_COLUMNS} FROM etl.etl_notification_rules r ORDER BY r.name`,
    )
    return rows.map(toRule)
  }

  createRule(spec: RuleSpec, most: number, author: Author): Promise<NotificationRule | 'taken' | 'full'> {
    return this.#database.transaction(async (session) => {
      // One after the other: rules that are created at the same moment do not see each other.
      await session.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
      const [present] = await session.query<{ rules: number }>(
        'SELECT count(*)::integer AS rules FROM etl.etl_notification_rules',
      )
      if (present!.rules >= most) return 'full'
      const places = FIELDS.map((_, n) => `$${n + 1}`)
      const [row] = await session.query<RuleRow>(
        `INSERT INTO etl.etl_notification_rules AS r (${FIELDS.join(', ')}) VALUES (${places.join(', ')})
         ON CONFLICT (name) DO NOTHING RETURNING ${RULE_COLUMNS}`,
        valuesOf(spec),
      )
      if (row === undefined) return 'taken'
      await audit(session, author, { action: 'create', rule: toRule(row), diff: diffOf(null, spec) })
      return toRule(row)
    })
  }

  changeRule(
    id: string,
    change: (before: RuleSpec) => RuleSpec,
    author: Author,
  ): Promise<NotificationRule | 'taken' | null> {
    return this.#database.transaction(async (session) => {
      const [found] = await session.query<RuleRow>(
        `SELECT ${RULE_COLUMNS} FROM etl.etl_notification_rules r WHERE r.id = $1 FOR UPDATE`,
        [id],
      )
      if (found === undefined) return null
      const before = toRule(found)
      const after = change(before)
      const taken = await session.query(
        'SELECT FROM etl.etl_notification_rules WHERE name = $1 AND id <> $2',
        [after.name, id],
      )
      if (taken.length > 0) return 'taken'
      const sets = FIELDS.map((field, n) => `${field} = $${n + 2}`)
      const [row] = await session.query<RuleRow>(
        `UPDATE etl.etl_notification_rules r SET ${sets.join(', ')}, updated_at = clock_timestamp()
          WHERE r.id = $1 RETURNING ${RULE_COLUMNS}`,
        [id, ...valuesOf(after)],
      )
      await audit(session, author, { action: 'update', rule: toRule(row!), diff: diffOf(before, after) })
      return toRule(row!)
    })
  }

  deleteRule(id: string, author: Author): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      const [row] = await session.query<RuleRow>(
        `DELETE FROM etl.etl_notification_rules r WHERE r.id = $1 RETURNING ${RULE_COLUMNS}`,
        [id],
      )
      if (row === undefined) return false
      await session.query('DELETE FROM etl.etl_outbox WHERE rule_id = $1 AND message_id IS NULL', [id])
      await audit(session, author, { action: 'delete', rule: toRule(row), diff: {} })
      return true
    })
  }

  channelStates(): Promise<ChannelState[]> {
    return this.#database.query<ChannelState & Record<string, unknown>>(CHANNEL_STATES)
  }

  async listDead({ limit, cursor }: PageRequest): Promise<Page<DeadMessage>> {
    const after = cursor === undefined ? null : readCursor(cursor, 2)
    const rows = await this.#database.query<DeadMessage & Record<string, unknown>>(
      `SELECT m.id, m.rule_name AS "ruleName", m.channel, m.event, m.group_key AS key, m.attempts,
              coalesce(m.last_error, '') AS error, etl.rfc3339(m.created_at) AS "createdAt",
              etl.rfc3339(m.settled_at) AS "diedAt", coalesce(e.events, 0) AS events, coalesce(e.pipelines, '{}') AS pipelines
         FROM etl.etl_notification_messages m
         LEFT JOIN LATERAL (SELECT count(*)::integer AS events,
                                   (array_agg(DISTINCT o.pipeline_name ORDER BY o.pipeline_name))[1:20] AS pipelines
                              FROM etl.etl_outbox o WHERE o.message_id = m.id) AS e ON true
        WHERE m.status = 'DEAD' AND ($1::timestamptz IS NULL OR (m.created_at, m.id) < ($1, $2::uuid))
        ORDER BY m.created_at DESC, m.id DESC LIMIT $3`,
      [after?.[0] ?? null, after?.[1] ?? null, limit + 1],
    )
    return pageOf(rows, limit, (message) => [message.createdAt, message.id])
  }

  settleDead(id: string, as: 'retry' | 'discard', author: Author): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      const sets =
        as === 'retry'
          ? "status = 'PENDING', attempts = 0, next_attempt_at = clock_timestamp(), settled_at = NULL"
          : "status = 'DISCARDED', settled_at = clock_timestamp()"
      const [row] = await session.query<{ rule_name: string; channel: string }>(
        `UPDATE etl.etl_notification_messages SET ${sets} WHERE id = $1 AND status = 'DEAD' RETURNING rule_name, channel`,
        [id],
      )
      if (row === undefined) return false
      await writeAudit(session, author, {
        action: `notification.${as}`,
        kind: 'notification',
        id,
        name: row.rule_name,
        diff: { channel: row.channel },
      })
      return true
    })
  }

  async forgetNotifications(days: number): Promise<void> {
    // In portions, so that no transaction grows without limit.
    for (;;) {
      const [removed] = await this.#database.query<{ most: number }>(FORGET, [days, MOST_AT_ONCE])
      if (removed!.most < MOST_AT_ONCE) return
    }
  }
}

function valuesOf(spec: RuleSpec): unknown[] {
  const { quietHours: quiet } = spec
  return [
    spec.name,
    spec.enabled,
    spec.events,
    spec.pipelines,
    spec.tags,
    spec.channel,
    quiet?.from ?? null,
    quiet?.to ?? null,
    quiet?.timezone ?? 'UTC',
    spec.groupSeconds,
    spec.repeatSeconds,
    spec.maxPerHour,
    spec.heldBackSeconds,
  ]
}

/** Old and new values of the columns that differ, as the audit shows them. */
function diffOf(before: RuleSpec | null, after: RuleSpec): Record<string, unknown> {
  const [old, now] = [before === null ? null : valuesOf(before), valuesOf(after)]
  const isSame = (n: number) => JSON.stringify(old?.[n] ?? null) === JSON.stringify(now[n] ?? null)
  return Object.fromEntries(
    FIELDS.flatMap((field, n) => (isSame(n) ? [] : [[field, { old: old?.[n] ?? null, new: now[n] }]])),
  )
}

interface RuleAction {
  readonly action: 'create' | 'update' | 'delete'
  readonly rule: NotificationRule
  readonly diff: Readonly<Record<string, unknown>>
}

async function audit(session: Queryable, author: Author, { action, rule, diff }: RuleAction): Promise<void> {
  const { id, name } = rule
  await writeAudit(session, author, {
    action: `notification.${action}`,
    kind: 'notification',
    id,
    name,
    diff,
  })
}
