import { useFormat } from '../../i18n/format.js'
import { Tip } from './Tip.js'

interface Props {
  /** Null is shown as a dash. */
  readonly value: number | null
  /** 18.4k, with the full number in the tooltip. */
  readonly isCompact?: boolean
}

export function NumberText({ value, isCompact = false }: Props) {
  const format = useFormat()
  if (value === null) return <span className="v-soft">–</span>
  if (!isCompact || Math.abs(value) < 1000)
    return <span className="v-number">{format.number(Math.round(value))}</span>
  return (
    <Tip label={format.number(Math.round(value))}>
      <span className="v-number">{format.compact(value)}</span>
    </Tip>
  )
}
