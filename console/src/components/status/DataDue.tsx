import type { DataFacts } from '../../facts/data-state.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import list from '../layout/list.module.css'
import { shared } from '../texts.js'

/** How old the data of a mart may become, or how often it is due. */
export function DataDue({ facts: { limitMs, periodMs } }: { readonly facts: DataFacts }) {
  const { due } = useTexts(shared)
  const format = useFormat()
  return (
    <span className={list.soft}>
      {limitMs !== null
        ? due.atMost(format.duration(limitMs))
        : periodMs === null
          ? due.none
          : due.every(format.duration(periodMs))}
    </span>
  )
}
