import type { MessageStatus } from '../model/notification.js'
import type {
  ClaimedMessage,
  Delivery,
  MessagePlan,
  Outbox,
  RecentMessage,
  WaitingEvent,
  WaitingEvents,
} from '../ports/outbox.js'
import { redactText } from '../telemetry/redact.js'
import type { Database, Queryable } from './database.js'
import { RULE_COLUMNS, type RuleRow, toRule } from './notification-rows.js'

/** One API at a time groups events ("noti" as four bytes): two would compose two messages from one outage. */
const LOCK = 0x6e6f7469
/** Per round, so that no transaction grows without limit; the rest follows in the next round. */
const MOST_EVENTS = 5_000
/** Of one rule, however many rules share a round. */
const LEAST_EVENTS = 200
/** Of one message, without what recovered meanwhile. Further events that are alike follow in the next one. */
const MOST_OF_MESSAGE = 20_000
/** Of one message, with their facts: thousands of error messages exceed what a database message and a receiver may hold. */
const MOST_WITH_FACTS = 100
/** The longest interval that a rule can set between messages. */
const RECENT = "interval '1 day'"

const EVENT_COLUMNS = `
  o.id, etl.rfc3339(o.at) AS at, o.event, o.group_key AS key, o.pipeline_id AS "pipelineId",
  o.pipeline_name AS "pipelineName", o.run_id AS "runId"`

/**
 * The events of a message of the row c: the first ones and the last one with their facts, the others only to be counted and named.
 * What recovered meanwhile has no facts that a message shows.
 */
const EVENTS_OF_MESSAGE = `
  SELECT coalesce(json_agg(e ORDER BY e.id), '[]') FROM (
    SELECT ${EVENT_COLUMNS},
           CASE WHEN o.event <> c.event OR o.first <= ${MOST_WITH_FACTS} - 1 OR o.last = 1 THEN o.data
                ELSE jsonb_strip_nulls(jsonb_build_object('rows', o.data -> 'rows')) END AS data,
           o.event = c.event AND o.first > ${MOST_WITH_FACTS} - 1 AND o.last > 1 AS brief
      FROM (SELECT w.*, row_number() OVER (PARTITION BY w.event ORDER BY w.id) AS first,
                   row_number() OVER (PARTITION BY w.event ORDER BY w.id DESC) AS last
              FROM etl.etl_outbox w WHERE w.message_id = c.id) AS o) e`

export interface OutboxOptions {
  /** Not given: the clock of the database. Tests set it to see quiet hours pass. */
  readonly now?: () => Date
}

export class OutboxRepository implements Outbox {
  readonly #database: Database
  readonly #now: (() => Date) | null

  constructor(database: Database, { now }: OutboxOptions = {}) {
    this.#database = database
    this.#now = now ?? null
  }

  async group(plan: (waiting: WaitingEvents) => MessagePlan): Promise<number> {
    // Most rounds find nothing: one index lookup, without a transaction.
    const some = await this.#database.query(
      'SELECT FROM etl.etl_outbox WHERE message_id IS NULL AND NOT dropped LIMIT 1',
    )
    if (some.length === 0) return 0
    return this.#database.transaction(async (session) => {
      const [lock] = await session.query<{ ours: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS ours', [
        LOCK,
      ])
      if (!lock!.ours) return 0
      const { messages, dropped } = plan(await this.#waiting(session))
      for (const { rule, event, key, events } of messages)
        await session.query(
          // An outage is one message: events that are alike belong to it, also those beyond the share of the rule. A
          // recovery belongs to a message only if its failure was sent, so only those that were planned.
          `WITH made AS (
             INSERT INTO etl.etl_notification_messages (rule_id, rule_name, channel, event, group_key, created_at)
             VALUES ($1, $2, $3, $4, $5, coalesce($7, clock_timestamp())) RETURNING id),
           alike AS (
             SELECT o.id FROM etl.etl_outbox o
              WHERE o.rule_id = $1 AND o.event = $4 AND o.group_key = $5 AND o.event <> 'recovered'
                AND o.message_id IS NULL AND NOT o.dropped
              ORDER BY o.id LIMIT ${MOST_OF_MESSAGE} FOR UPDATE SKIP LOCKED)
           UPDATE etl.etl_outbox o SET message_id = made.id FROM made
            WHERE o.id = ANY ($6) OR o.id IN (SELECT id FROM alike)`,
          [rule.id, rule.name, rule.channel, event, key, events.map(({ id }) => id), this.#now?.() ?? null],
        )
      if (dropped.length > 0)
        await session.query('UPDATE etl.etl_outbox SET dropped = true WHERE id = ANY ($1)', [
          dropped.map(({ id }) => id),
        ])
      return messages.length
    })
  }

  async #waiting(session: Queryable): Promise<WaitingEvents> {
    // A share for each rule: the events of one that waits for the morning must not keep those of others from being sent.
    // SKIP LOCKED: a running batch may still be adding rows to an event of the quarantine.
    const events = await session.query<
      WaitingEvent & { ended_id: number | null; ended_status: MessageStatus | 'WAITING' | null }
    >(
      `WITH RECURSIVE rules AS (
         (SELECT o.rule_id FROM etl.etl_outbox o WHERE o.message_id IS NULL AND NOT o.dropped ORDER BY o.rule_id LIMIT 1)
         UNION ALL
         SELECT (SELECT o.rule_id FROM etl.etl_outbox o
                  WHERE o.message_id IS NULL AND NOT o.dropped AND o.rule_id > r.rule_id ORDER BY o.rule_id LIMIT 1)
           FROM rules r WHERE r.rule_id IS NOT NULL),
       waiting AS (
         SELECT own.* FROM rules r CROSS JOIN LATERAL (
           SELECT * FROM etl.etl_outbox o WHERE o.rule_id = r.rule_id AND o.message_id IS NULL AND NOT o.dropped
            ORDER BY o.id LIMIT greatest($2, $1 / (SELECT count(*) FROM rules)) FOR UPDATE SKIP LOCKED) AS own)
       SELECT ${EVENT_COLUMNS}, '{}'::jsonb AS data, o.rule_id AS "ruleId", ended.id AS ended_id, ended.status AS ended_status
         FROM waiting o
         -- The last failure or breach of freshness since the previous recovery. One that was given up counts last.
         LEFT JOIN LATERAL (
           SELECT f.id, CASE WHEN f.dropped THEN 'DISCARDED' WHEN f.message_id IS NULL THEN 'WAITING' ELSE m.status END AS status
             FROM etl.etl_outbox f LEFT JOIN etl.etl_notification_messages m ON m.id = f.message_id
            WHERE o.event = 'recovered' AND f.rule_id = o.rule_id AND f.pipeline_id = o.pipeline_id
              AND f.event IN ('failed', 'brake', 'stale') AND f.id < o.id
              AND f.id > coalesce((SELECT max(r.id) FROM etl.etl_outbox r
                                    WHERE r.rule_id = o.rule_id AND r.pipeline_id = o.pipeline_id AND r.event = 'recovered' AND r.id < o.id), 0)
            ORDER BY f.dropped OR coalesce(m.status IN ('DEAD', 'DISCARDED'), false), f.id DESC LIMIT 1) AS ended ON true
        ORDER BY o.id`,
      [MOST_EVENTS, LEAST_EVENTS],
    )
    const rules = await session.query<RuleRow>(`SELECT ${RULE_COLUMNS} FROM etl.etl_notification_rules r`)
    const recent = await session.query<RecentMessage>(
      `SELECT rule_id AS "ruleId", event, group_key AS key, etl.rfc3339(created_at) AS "createdAt"
         FROM etl.etl_notification_messages WHERE created_at > coalesce($1, clock_timestamp()) - ${RECENT}`,
      [this.#now?.() ?? null],
    )
    const [clock] = await session.query<{ now: Date }>('SELECT clock_timestamp() AS now')
    return {
      now: this.#now?.() ?? clock!.now,
      rules: rules.map(toRule),
      events: events.map(({ ended_id: id, ended_status: status, ...event }) => ({
        ...event,
        ends: id === null || status === null ? null : { id, status },
      })),
      recent,
    }
  }

  async reportRuns(enabled: boolean): Promise<void> {
    await this.#database.query(
      `INSERT INTO etl.etl_openlineage AS o (enabled) VALUES ($1)
       ON CONFLICT (is_only) DO UPDATE SET enabled = excluded.enabled WHERE o.enabled <> excluded.enabled`,
      [enabled],
    )
  }

  async claim(most: number, leaseSeconds: number): Promise<ClaimedMessage[]> {
    return this.#database.query<ClaimedMessage & Record<string, unknown>>(
      `WITH due AS (
         SELECT id FROM etl.etl_notification_messages m
          WHERE status = 'PENDING' AND next_attempt_at <= clock_timestamp()
            AND (lease_until IS NULL OR lease_until < clock_timestamp())
            AND (order_key IS NULL OR NOT EXISTS (
                  SELECT FROM etl.etl_notification_messages earlier
                   WHERE earlier.order_key = m.order_key AND earlier.order_no < m.order_no AND earlier.status = 'PENDING'))
          ORDER BY next_attempt_at LIMIT $1 FOR UPDATE SKIP LOCKED),
       claimed AS (
         UPDATE etl.etl_notification_messages m
            SET attempts = m.attempts + 1, attempted_at = clock_timestamp(),
                lease_until = clock_timestamp() + make_interval(secs => $2)
           FROM due WHERE m.id = due.id RETURNING m.*)
       SELECT c.id, c.rule_name AS "ruleName", c.channel, c.event, c.group_key AS key, etl.rfc3339(c.created_at) AS "createdAt",
              c.attempts AS attempt,
              (${EVENTS_OF_MESSAGE}) AS events
         FROM claimed c ORDER BY c.created_at`,
      [most, leaseSeconds],
    )
  }

  async settle({ id, attempt }: ClaimedMessage, delivery: Delivery): Promise<boolean> {
    const error = delivery.status === 'SENT' ? null : redactText(delivery.error)
    const wait = delivery.status === 'RETRY' ? delivery.waitSeconds : 0
    // The number of the attempt is the fence: a process whose lease expired must not undo the outcome of another.
    const settled = await this.#database.query(
      `UPDATE etl.etl_notification_messages
          SET status = $3, last_error = coalesce($4, last_error), lease_until = NULL,
              next_attempt_at = clock_timestamp() + make_interval(secs => $5),
              settled_at = CASE WHEN $3 = 'PENDING' THEN NULL ELSE clock_timestamp() END
        WHERE id = $1 AND attempts = $2 AND status = 'PENDING' RETURNING id`,
      [id, attempt, delivery.status === 'RETRY' ? 'PENDING' : delivery.status, error, wait],
    )
    return settled.length === 1
  }
}
