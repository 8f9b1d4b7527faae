import { createFormat, useFormat } from '../../i18n/format.js'
import { useLanguage, useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import { BROWSER_ZONE } from '../../time/zone.js'
import { shared } from '../texts.js'
import { Tip } from './Tip.js'

interface Props {
  readonly at: string
  /** `clock` 13:02:11 MSK; `short` 13:02 or 14 Nov, 13:02; `moment` with the date; `relative` 3 minutes ago. */
  readonly as?: 'clock' | 'short' | 'moment' | 'relative'
}

/** A time in the selected zone, with a tooltip in UTC, in the browser's zone and relative. */
export function TimeText({ at, as = 'clock' }: Props) {
  const format = useFormat()
  const now = useNow()
  const text =
    as === 'short' ? format.short(at, now) : as === 'relative' ? format.relative(at, now) : format[as](at)
  return (
    <Tip label={<Everywhere at={at} now={now} />}>
      <time dateTime={at} className="v-number">
        {text}
      </time>
    </Tip>
  )
}

function Everywhere({ at, now }: { readonly at: string; readonly now: number }) {
  const texts = useTexts(shared)
  const language = useLanguage()
  const format = useFormat()
  return (
    <span style={{ display: 'grid' }}>
      <span>{createFormat(language, 'UTC').moment(at)}</span>
      {BROWSER_ZONE === 'UTC' ? null : (
        <span>
          {createFormat(language, BROWSER_ZONE).moment(at)} ({texts.inZone.local})
        </span>
      )}
      <span>{format.relative(at, now)}</span>
    </span>
  )
}
