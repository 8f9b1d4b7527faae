import { Group, Select, TextInput } from '@mantine/core'
import { useTexts } from '../../i18n/texts.js'
import { getPreferences } from '../../preferences/preferences.js'
import { serverNow } from '../../time/clock.js'
import { useZone, zoneLabel } from '../../time/zone.js'
import { localOf, momentOf } from '../../time/zoned.js'
import styles from './runs.module.css'
import { RUNS_RANGES, type RunsRange, type RunsSearch } from './search.js'
import { runsTexts } from './texts.js'

interface Props {
  readonly search: RunsSearch
  readonly onChange: (change: Partial<RunsSearch>) => void
}

/** Predefined ranges, or a custom one. */
export function RangeFilter({ search, onChange }: Props) {
  const texts = useTexts(runsTexts)
  return (
    <>
      <Select
        className={styles.range}
        aria-label={texts.range}
        placeholder={texts.range}
        clearable
        data={RUNS_RANGES.map((value) => ({ value, label: texts.ranges[value] }))}
        value={search.range ?? null}
        onChange={(value) =>
          onChange({
            range: (value as RunsRange | null) ?? undefined,
            ...(value === 'custom' ? {} : { since: undefined, until: undefined }),
          })
        }
      />
      {search.range === 'custom' ? <FromTo search={search} onChange={onChange} /> : null}
    </>
  )
}

/** In the selected time zone, which is shown next to the fields. */
function FromTo({ search, onChange }: Props) {
  const texts = useTexts(runsTexts)
  const zone = useZone()
  const field = (name: 'since' | 'until') => (
    <TextInput
      // Another zone shows the same moment as a different time.
      key={`${name} ${zone}`}
      type="datetime-local"
      aria-label={texts[name]}
      title={texts[name]}
      defaultValue={search[name] === undefined ? '' : localOf(search[name], zone)}
      onChange={(event) => onChange({ [name]: momentOf(event.currentTarget.value, zone) ?? undefined })}
    />
  )
  return (
    <Group className={styles.fromTo} gap={6}>
      {field('since')}
      <span aria-hidden="true">–</span>
      {field('until')}
      <span className="v-soft">{zoneLabel(zone, serverNow(), getPreferences().language)}</span>
    </Group>
  )
}
