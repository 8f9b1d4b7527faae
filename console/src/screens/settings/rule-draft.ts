import type { NotificationRule, NotificationRuleInput } from '../../api/wire.js'

type Event = NotificationRuleInput['events'][number]

/** In the order in which the form shows them; the compiler requires every event of the API. */
const ORDER: Readonly<Record<Event, true>> = {
  failed: true,
  recovered: true,
  brake: true,
  check_failed: true,
  quarantine_grew: true,
  drift_found: true,
  audit_failed: true,
  stale: true,
  held_back: true,
}
export const EVENTS = Object.keys(ORDER) as Event[]

/** A rule as the form edits it. */
export interface RuleDraft {
  readonly name: string
  readonly events: readonly string[]
  readonly channel: string | null
  /** Separated by commas. */
  readonly pipelines: string
  readonly tags: string
  readonly isQuiet: boolean
  readonly from: string
  readonly to: string
  readonly zone: string
  readonly group: number
  readonly repeat: number
  readonly most: number
}

export function draftOf(rule: NotificationRule | null, channels: readonly string[]): RuleDraft {
  const quiet = rule?.quiet_hours ?? null
  return {
    name: rule?.name ?? '',
    events: rule?.events ?? ['failed', 'recovered'],
    channel: rule?.channel ?? (channels.length === 1 ? channels[0]! : null),
    pipelines: rule?.pipelines.join(', ') ?? '',
    tags: rule?.tags.join(', ') ?? '',
    isQuiet: quiet !== null,
    from: quiet?.from ?? '22:00',
    to: quiet?.to ?? '07:00',
    zone: quiet?.timezone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone,
    group: rule?.group_seconds ?? 10,
    repeat: rule?.repeat_seconds ?? 600,
    most: rule?.max_per_hour ?? 20,
  }
}

export function inputOf(draft: RuleDraft): NotificationRuleInput {
  return {
    name: draft.name.trim(),
    events: EVENTS.filter((event) => draft.events.includes(event)),
    channel: draft.channel ?? '',
    pipelines: listOf(draft.pipelines),
    tags: listOf(draft.tags),
    quiet_hours: draft.isQuiet ? { from: draft.from, to: draft.to, timezone: draft.zone } : null,
    group_seconds: draft.group,
    repeat_seconds: draft.repeat,
    max_per_hour: draft.most,
  }
}

/** Separated by commas. */
function listOf(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}
