import type { NotificationEvent, NotificationRule } from '../model/notification.js'

export const RULE_COLUMNS = `
  r.id, r.name, r.enabled, r.events, r.pipelines, r.tags, r.channel, r.quiet_from, r.quiet_to, r.quiet_timezone, r.group_seconds,
  r.repeat_seconds, r.max_per_hour, r.held_back_seconds, etl.rfc3339(r.created_at) AS created_at,
  etl.rfc3339(r.updated_at) AS updated_at`

export interface RuleRow {
  id: string
  name: string
  enabled: boolean
  events: NotificationEvent[]
  pipelines: string[]
  tags: string[]
  channel: string
  quiet_from: string | null
  quiet_to: string | null
  quiet_timezone: string
  group_seconds: number
  repeat_seconds: number
  max_per_hour: number
  held_back_seconds: number
  created_at: string
  updated_at: string
}

export function toRule(row: RuleRow): NotificationRule {
  const { quiet_from: from, quiet_to: to, quiet_timezone: timezone } = row
  return {
    id: row.id,
    name: row.name,
    enabled: row.enabled,
    events: row.events,
    pipelines: row.pipelines,
    tags: row.tags,
    channel: row.channel,
    quietHours: from === null || to === null ? null : { from, to, timezone },
    groupSeconds: row.group_seconds,
    repeatSeconds: row.repeat_seconds,
    maxPerHour: row.max_per_hour,
    heldBackSeconds: row.held_back_seconds,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
