import { cutText } from '../model/cut-text.js'
import { codeName } from '../model/errors.js'
import { explainStaleness, type StaleCause } from '../model/freshness.js'
import type { NotificationMessage, OutboxEvent } from '../model/notification.js'

/** More would make a message unreadable on a phone; the count says how many there are. */
const MOST_LISTED = 10
const MOST_CHARACTERS = 600

/** A message in words, for channels that people read. */
export interface MessageText {
  readonly title: string
  readonly lines: readonly string[]
  /** The run, or the list of runs if there are several. */
  readonly link: string
  readonly tone: 'bad' | 'good' | 'neutral'
}

/** In plain text: every channel escapes it as its format requires. */
export function messageText(message: NotificationMessage, publicUrl: string): MessageText {
  const main = message.events.filter(({ event }) => event === message.event)
  const one = oneEach(main).length === 1 ? main.at(-1)! : null
  return {
    title: titleOf(message, main),
    lines: one === null ? listOf(message, main) : [...factsOf(one), ...recoveryOf(one, message)],
    link: one === null ? `${publicUrl}/ui/runs` : linkOf(one, publicUrl),
    tone: message.event === 'recovered' ? 'good' : message.event === 'test' ? 'neutral' : 'bad',
  }
}

/** What a failed check led to. */
const OUTCOMES: Readonly<Record<string, string>> = {
  warned: 'the rows were written (on_failure: warn).',
  quarantined: 'the rows were set aside (on_failure: quarantine).',
  failed: 'the run failed (on_failure: fail).',
  error: 'the check could not be evaluated.',
}

const VERBS: Readonly<Record<string, (events: readonly OutboxEvent[]) => string>> = {
  failed: ([first]) => (first?.key ? `failed with ${codeName(first.key)}` : 'failed'),
  brake: () => 'stopped by the delete brake',
  recovered: () => 'recovered',
  check_failed: ([first]) => (first?.key ? `failed the check ${first.key}` : 'failed a check'),
  quarantine_grew: (events) => `quarantined ${many(sum(events, 'rows'), 'row')}`,
  drift_found: () => 'differs from its source',
  audit_failed: () => 'failed an audit',
  stale: () => 'missed the freshness limit',
  held_back: () => 'held back by an open transaction',
  test: () => 'test message',
}

function titleOf({ event, ruleName }: NotificationMessage, events: readonly OutboxEvent[]): string {
  if (event === 'test') return `Vitrina: test message for the channel ${ruleName}`
  const pipelines = oneEach(events)
  const verb = VERBS[event]?.(events) ?? event
  if (pipelines.length > 1) return `${pipelines.length} pipelines ${plural(verb)}`
  const times = events.length > 1 && event === 'failed' ? ` (${events.length} times)` : ''
  return `${pipelines[0]?.pipelineName ?? 'Vitrina'} ${verb}${times}`
}

function plural(verb: string): string {
  return verb.replace(/^differs from its source$/, 'differ from their sources')
}

/** The newest event of each pipeline, in the order in which the pipelines were first affected. */
function oneEach(events: readonly OutboxEvent[]): OutboxEvent[] {
  return [...new Map(events.map((event) => [event.pipelineId, event])).values()]
}

function listOf(message: NotificationMessage, events: readonly OutboxEvent[]): string[] {
  const pipelines = oneEach(events)
  const [first] = events
  if (first === undefined) return []
  const listed = pipelines.slice(0, MOST_LISTED).map((event) => {
    const count = events.filter(({ pipelineId }) => pipelineId === event.pipelineId).length
    const [note] = recoveryOf(event, message)
    return `- ${event.pipelineName}${count > 1 ? ` (${count} times)` : ''}${note ? `: ${note}` : ''}`
  })
  const more = pipelines.length - listed.length
  return [
    `First: ${first.pipelineName} at ${first.at.slice(0, 19)}Z.`,
    ...factsOf(first),
    ...listed,
    ...(more > 0 ? [`- and ${more} more`] : []),
  ]
}

function factsOf({ event, data, at }: OutboxEvent): string[] {
  const text = (name: string) => shown(data[name])
  const error = () => [
    labelled('Cause', text('error')),
    labelled('Code', codeWords(text('code'))),
    labelled('Hint', text('hint')),
  ]
  const facts: Readonly<Record<string, () => (string | null)[]>> = {
    failed: error,
    brake: error,
    recovered: () => [
      data.data_as_of === undefined
        ? `The run succeeded at ${at.slice(0, 19)}Z.`
        : `The data has been fresh again since ${at.slice(0, 19)}Z.`,
    ],
    check_failed: () => [
      labelled('Cause', text('message')),
      Number(data.failed_rows) > 0 ? `Rows: ${text('failed_rows')}.` : null,
      labelled('First keys', Array.isArray(data.sample) ? data.sample.join(', ') : null),
      `Outcome: ${OUTCOMES[String(data.status)] ?? text('status')}`,
    ],
    quarantine_grew: () => [labelled('First reason', text('reason'))],
    drift_found: () => [
      `Missing rows: ${text('missing')}, extra rows: ${text('extra')}, different rows: ${text('different')}.`,
      'Hint: Repair them on the Quality tab of the pipeline, or with POST /pipelines/{id}/reconcile/repair.',
    ],
    audit_failed: () => [
      `Rows that differed: ${text('rows')}, first key: ${text('key')}. They are repaired.`,
      'Hint: Every later run computes all rows until the query changes. Please report the query.',
    ],
    stale: () => staleFacts(data),
    held_back: () => [
      labelled('Cause', text('reason')),
      `Open since ${text('since')}, session ${text('pid')}.`,
      'Hint: End that transaction on the source; rows after it are read again in every run until then.',
    ],
    test: () => ['If you can read this, notifications of this channel arrive.'],
  }
  return (facts[event]?.() ?? []).filter((fact) => fact !== null)
}

/** As the trigger on etl_freshness writes it: the cause with the age. */
function staleFacts({ budget_seconds, data_as_of, ...cause }: OutboxEvent['data']): string[] {
  const { detail, hint } = explainStaleness(cause as unknown as StaleCause)
  const asOf = data_as_of === null ? 'It has never been loaded.' : `Data as of ${data_as_of}.`
  return [`The limit is ${budget_seconds} s. ${asOf}`, `Cause: ${shown(detail)}`, `Hint: ${shown(hint)}`]
}

function recoveryOf(event: OutboxEvent, { events, event: main }: NotificationMessage): string[] {
  if (main === 'recovered') return []
  const ended = events.find(
    (other) => other.event === 'recovered' && other.pipelineId === event.pipelineId && other.id > event.id,
  )
  return ended === undefined ? [] : [`recovered at ${ended.at.slice(0, 19)}Z`]
}

function labelled(label: string, value: string | null): string | null {
  return value === null || value === '' ? null : `${label}: ${shown(value)}`
}

/** `TARGET_MISMATCH (VTR-4002)`: the name says what it is, the error reference lists the number. */
function codeWords(number: string | null): string | null {
  if (number === null) return null
  const name = codeName(number)
  return name === number ? number : `${name} (${number})`
}

function shown(value: unknown): string | null {
  if (value === null || value === undefined) return null
  // On one line: the text after a line break in an error message would look like a separate line.
  const text = String(value).replace(/\s+/g, ' ')
  return cutText(text, MOST_CHARACTERS)
}

function linkOf({ event, runId, pipelineId }: OutboxEvent, publicUrl: string): string {
  if (event === 'test') return `${publicUrl}/ui/settings/notifications`
  return runId === null ? `${publicUrl}/ui/pipelines/${pipelineId}` : `${publicUrl}/ui/runs/${runId}`
}

function sum(events: readonly OutboxEvent[], name: string): number {
  return events.reduce((total, { data }) => total + (Number(data[name]) || 0), 0)
}

function many(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
