import { Button, Flex, Group, Select, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { COMING, comingRunsQuery } from '../../api/authoring.js'
import type { ComingRuns } from '../../api/wire.js'
import { createFormat } from '../../i18n/format.js'
import { useLanguage, useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import { Columns } from '../layout/Columns.js'
import { Panel } from '../layout/Panel.js'
import { ProblemCard } from '../layout/ProblemCard.js'
import { Badge } from '../status/Badge.js'
import styles from './authoring.module.css'
import { cronWords, isInterval } from './cron-words.js'
import { FieldLabel, FieldProblems, type FieldsProps, isBad } from './field-parts.js'
import { OrderFields } from './OrderFields.js'
import { scheduleTexts } from './schedule-texts.js'

const PRESETS = { quarter: '15m', hour: '1h', day: '0 6 * * *', week: '0 6 * * 1' } as const
const PAUSE_MS = 300

/** The schedule: as entered, in words, and as the next runs. */
export function ScheduleFields({ spec, inspection, onChange }: FieldsProps) {
  const texts = useTexts(scheduleTexts)
  const zones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]
  return (
    <Panel title={texts.when}>
      <div className={styles.stack}>
        {spec.freshness === 'live' ? null : <FreshnessField {...{ spec, inspection, onChange }} />}
        <Columns least={230}>
          <div>
            <TextInput
              label={<FieldLabel name="schedule_interval">{texts.schedule}</FieldLabel>}
              description={texts.scheduleHint}
              placeholder={texts.none}
              value={spec.schedule_interval ?? ''}
              error={isBad(inspection.problems, 'schedule_interval')}
              spellCheck={false}
              onChange={({ currentTarget }) => onChange({ schedule_interval: currentTarget.value || null })}
            />
            <FieldProblems problems={inspection.problems} field="schedule_interval" />
          </div>
          <div>
            <Select
              label={<FieldLabel name="schedule_timezone">{texts.zone}</FieldLabel>}
              description={texts.zoneHint}
              data={zones.includes(spec.schedule_timezone) ? zones : [spec.schedule_timezone, ...zones]}
              value={spec.schedule_timezone}
              searchable
              limit={100}
              allowDeselect={false}
              onChange={(zone) => onChange({ schedule_timezone: zone ?? 'UTC' })}
            />
            <FieldProblems problems={inspection.problems} field="schedule_timezone" />
          </div>
        </Columns>
        <Group gap={8} role="group" aria-label={texts.presets}>
          <Preset value={null} {...{ spec, onChange }}>
            {texts.none}
          </Preset>
          {(Object.keys(PRESETS) as (keyof typeof PRESETS)[]).map((each) => (
            <Preset key={each} value={PRESETS[each]} {...{ spec, onChange }}>
              {texts.preset[each]}
            </Preset>
          ))}
        </Group>
        <Coming spec={spec} />
        <OrderFields {...{ spec, inspection, onChange }} />
      </div>
    </Panel>
  )
}

function FreshnessField({ spec, inspection, onChange }: FieldsProps) {
  const texts = useTexts(scheduleTexts)
  return (
    <div>
      <TextInput
        label={<FieldLabel name="freshness">{texts.freshness}</FieldLabel>}
        description={texts.freshnessHint}
        placeholder={texts.noLimit}
        value={spec.freshness ?? ''}
        error={isBad(inspection.problems, 'freshness')}
        spellCheck={false}
        onChange={({ currentTarget }) => onChange({ freshness: currentTarget.value || null })}
      />
      <FieldProblems problems={inspection.problems} field="freshness" />
    </div>
  )
}

interface PresetProps extends Pick<FieldsProps, 'spec' | 'onChange'> {
  readonly value: string | null
  readonly children: string
}

function Preset({ value, spec, onChange, children }: PresetProps) {
  const isChosen = spec.schedule_interval === value
  return (
    <Button
      size="compact-xs"
      variant={isChosen ? 'light' : 'default'}
      aria-pressed={isChosen}
      onClick={() => onChange({ schedule_interval: value })}
    >
      {children}
    </Button>
  )
}

/** The schedule in words, and its next runs in its own time zone. */
export function Coming({ spec }: { readonly spec: FieldsProps['spec'] }) {
  const texts = useTexts(scheduleTexts)
  const { schedule_interval: schedule, schedule_timezone: zone, freshness, after } = spec
  const [asked] = useDebouncedValue(schedule?.trim() ?? '', PAUSE_MS)
  const { data, error } = useQuery(comingRunsQuery(asked, zone))
  if (asked === '') {
    if (freshness === 'live') return null
    const unlimited = after === 'none' ? texts.byHand : texts.followed
    return <p className={styles.note}>{freshness === null ? unlimited : texts.limited(freshness)}</p>
  }
  if (error !== null) return <ProblemCard error={error} />
  if (data === undefined) return <RunsToCome />
  if (!data.valid) return null
  return (
    <div className={styles.tight} role="status">
      <Words schedule={asked} />
      {data.runs.length === 0 ? (
        <p className={styles.note}>{texts.never}</p>
      ) : (
        <Runs runs={data.runs} zone={zone} />
      )}
    </div>
  )
}

/** Reserves the height of the list that is loading. */
function RunsToCome() {
  const lines = Array.from({ length: COMING }, (_, n) => n)
  return (
    <div className={styles.tight} data-skeleton>
      <strong>&nbsp;</strong>
      <span>&nbsp;</span>
      <Flex component="ol" className={styles.runs} direction="column" gap={2}>
        {lines.map((n) => (
          <li key={n}>&nbsp;</li>
        ))}
      </Flex>
    </div>
  )
}

function Words({ schedule }: { readonly schedule: string }) {
  const texts = useTexts(scheduleTexts)
  const language = useLanguage()
  const isCron = !isInterval(schedule)
  const { data } = useQuery({
    queryKey: ['cron-words', schedule, language],
    queryFn: () => cronWords(schedule, language),
    enabled: isCron,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return <strong>{isCron ? (data ?? '\u00a0') : texts.every(schedule)}</strong>
}

function Runs({ runs, zone }: { readonly runs: ComingRuns['runs']; readonly zone: string }) {
  const texts = useTexts(scheduleTexts)
  const now = useNow()
  const format = createFormat(useLanguage(), zone)
  return (
    <>
      <span className="v-soft">{texts.next(zone)}</span>
      <Flex component="ol" className={styles.runs} direction="column" gap={2} aria-label={texts.next(zone)}>
        {runs.map(({ at, clock_change_minutes: change }) => (
          <li key={at}>
            <time dateTime={at}>{format.moment(at)}</time>
            <span className="v-soft">{format.relative(at, now)}</span>
            {change === 0 ? null : (
              <Badge tone="warn" icon="clock">
                {change > 0 ? texts.forward(change) : texts.back(-change)}
              </Badge>
            )}
          </li>
        ))}
      </Flex>
    </>
  )
}
