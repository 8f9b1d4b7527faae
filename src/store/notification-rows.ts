import type { NotificationRule } from '../model/notification.js'
import { fromColumns, type SnakeCaseRow } from './from-columns.js'

export const RULE_COLUMNS = `
  r.id, r.name, r.enabled, r.events, r.pipelines, r.tags, r.channel, r.quiet_from, r.quiet_to, r.quiet_timezone, r.group_seconds,
  r.repeat_seconds, r.max_per_hour, r.held_back_seconds, etl.rfc3339(r.created_at) AS created_at,
  etl.rfc3339(r.updated_at) AS updated_at`

export type RuleRow = SnakeCaseRow<Omit<NotificationRule, 'quietHours'>> & {
  quiet_from: string | null
  quiet_to: string | null
  quiet_timezone: string
}

export function toRule(row: RuleRow): NotificationRule {
  const { quiet_from: from, quiet_to: to, quiet_timezone: timezone, ...rest } = row
  const quietHours = from === null || to === null ? null : { from, to, timezone }
  return { ...fromColumns<Omit<NotificationRule, 'quietHours'>>(rest), quietHours }
}
