import type { Freshness } from '../../api/wire.js'
import type { Format } from '../../i18n/format.js'
import type { ShownFacts, staleTexts } from './stale-texts.js'

export type StaleCause = NonNullable<Freshness['cause']>

/** Why the data is too old and what to do, in the language of the texts. */
export function sentencesOf(
  { code, facts, ...ofServer }: StaleCause,
  { details, hints, upstream }: typeof staleTexts.en,
  format: Format,
): { readonly detail: string; readonly hint: string } {
  if (code === 'UPSTREAM' && facts.root === null)
    return {
      detail: `${chainOf(facts.upstreams, upstream)}.`,
      hint: hints.UPSTREAM(facts.upstreams.at(-1) ?? ''),
    }
  const root = facts.root ?? code
  // A cause that a newer server knows: its own words are better than none.
  if (!Object.hasOwn(details, root)) return { detail: ofServer.detail, hint: ofServer.hint }
  const detail = details[root](shown(facts, format))
  const hint = facts.hint ?? hints[root](facts.upstreams.at(-1) ?? '')
  return code === 'UPSTREAM'
    ? { detail: `${chainOf(facts.upstreams, upstream)}: ${detail}`, hint }
    : { detail, hint }
}

function chainOf(upstreams: readonly string[], text: (name: string) => string): string {
  return upstreams.map(text).join(': ')
}

function shown(facts: StaleCause['facts'], format: Format): ShownFacts {
  return {
    since: facts.since == null ? '' : format.moment(facts.since),
    runner: facts.runner ?? '',
    ahead: facts.ahead ?? 0,
    running: facts.running ?? 0,
    attempt: facts.attempt ?? 0,
    errorCode: facts.error_code ?? '',
    error: facts.error == null ? '' : `: ${facts.error}`,
    tags: (facts.tags ?? []).join(', '),
    tagCount: facts.tags?.length ?? 0,
    connection: facts.connection ?? '',
    runs: format.number(facts.runs ?? 0),
    limit: format.number(facts.limit ?? 0),
    isTarget: facts.side === 'target',
    pid: facts.pid == null ? '' : String(facts.pid),
    application: facts.application ?? '',
    table: facts.table ?? '',
    reason: facts.reason ?? '',
    took: format.duration((facts.seconds ?? 0) * 1000),
    share: format.percent(Math.min(1, facts.share ?? 0)),
    isFinished: facts.finished ?? false,
  }
}
