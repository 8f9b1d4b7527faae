import { Select } from '@mantine/core'
import { useTexts } from '../../i18n/texts.js'
import { appTexts } from '../texts.js'

interface Props {
  /** Null: not selected by name. */
  readonly value: string | null
  readonly onChoose: (zone: string) => void
}

/** Any IANA time zone, by name. */
export function ZonePicker({ value, onChoose }: Props) {
  const texts = useTexts(appTexts)
  return (
    <Select
      m={6}
      searchable
      aria-label={texts.zonePick}
      placeholder={texts.zoneOther}
      value={value}
      data={Intl.supportedValuesOf('timeZone')}
      limit={50}
      comboboxProps={{ withinPortal: false }}
      onChange={(zone) => zone !== null && onChoose(zone)}
    />
  )
}
