import { Flex } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { computeProfile, martProfileQuery } from '../../../api/mart-data.js'
import { asProblem } from '../../../api/problem.js'
import type { MartColumnProfile, MartProfile, Pipeline } from '../../../api/wire.js'
import { ActionButton } from '../../../components/actions/ActionButton.js'
import { toastProblem } from '../../../components/actions/toast.js'
import grid from '../../../components/layout/grid.module.css'
import { Panel } from '../../../components/layout/Panel.js'
import { ProblemCard } from '../../../components/layout/ProblemCard.js'
import { Scrollable } from '../../../components/layout/Scrollable.js'
import { Skeleton } from '../../../components/layout/Skeleton.js'
import { Badge } from '../../../components/status/Badge.js'
import { TimeText } from '../../../components/text/TimeText.js'
import { type Format, useFormat } from '../../../i18n/format.js'
import { useTexts } from '../../../i18n/texts.js'
import { useLiveEvents } from '../../../live/live.js'
import { Distribution } from './Distribution.js'
import styles from './data.module.css'
import { dataTexts } from './data-texts.js'
import { SuggestedChecks } from './SuggestedChecks.js'

/** Last on the page: its height depends on the columns of the mart. */
export function ProfilePanel({ pipeline }: { readonly pipeline: Pipeline }) {
  const texts = useTexts(dataTexts)
  const client = useQueryClient()
  const query = martProfileQuery(pipeline.id)
  const { data, error, refetch } = useQuery(query)
  const { mutate, isPending } = useMutation({
    mutationFn: () => computeProfile(pipeline.id),
    onSuccess: (profile) => client.setQueryData(query.queryKey, profile),
    onError: (raised) => toastProblem(texts.profileFailed, raised),
  })
  useLiveEvents((events) => {
    // The stored profile says itself whether it is outdated.
    const ended = events.some(({ kind, pipeline_id }) => kind === 'run.status' && pipeline_id === pipeline.id)
    if (ended && data !== undefined) void client.invalidateQueries({ queryKey: query.queryKey })
  })
  // The rows above already say that there is nothing to read.
  if (error !== null && ['MART_MISSING', 'ROWS_UNSUPPORTED'].includes(asProblem(error).problem.code))
    return null
  return (
    <>
      <Panel
        title={texts.profile}
        isFlush
        actions={
          <ActionButton
            needs="operator"
            icon="retry"
            size="compact-sm"
            loading={isPending}
            onClick={() => mutate()}
          >
            {texts.recompute}
          </ActionButton>
        }
      >
        {error === null ? null : (
          <div className={styles.problem}>
            <ProblemCard error={error} onRetry={() => void refetch()} />
          </div>
        )}
        {data === undefined ? (
          error === null ? (
            <Skeleton lines={8} height={40} />
          ) : null
        ) : (
          <Profile profile={data} />
        )}
      </Panel>
      {data === undefined ? null : <SuggestedChecks checks={data.suggested_checks} />}
    </>
  )
}

function Profile({ profile }: { readonly profile: MartProfile }) {
  const texts = useTexts(dataTexts)
  const format = useFormat()
  return (
    <>
      <Flex component="p" className={styles.about} rowGap={4} columnGap={16} align="center" wrap="wrap">
        <span>{texts.total(about(profile.rows, profile.rows_exact, format))}</span>
        {profile.sample_percent === null ? null : (
          <span>
            {texts.sampled(format.number(profile.rows_examined), format.number(profile.sample_percent))}
          </span>
        )}
        <span>
          {texts.computed} <TimeText at={profile.computed_at} as="relative" /> (
          {format.duration(profile.duration_ms)})
        </span>
        {profile.outdated ? (
          <Badge tone="warn" icon="clock">
            {texts.outdated}
          </Badge>
        ) : null}
      </Flex>
      <Scrollable className={grid.scroll} label={texts.profile}>
        <table className={`${grid.grid} ${grid.stacked}`}>
          <thead>
            <tr>
              {[texts.column, texts.nulls, texts.distinct, texts.range, texts.distribution].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {profile.columns.map((column) => (
              <ColumnRow key={column.name} column={column} profile={profile} />
            ))}
          </tbody>
        </table>
      </Scrollable>
    </>
  )
}

function ColumnRow({
  column,
  profile,
}: {
  readonly column: MartColumnProfile
  readonly profile: MartProfile
}) {
  const texts = useTexts(dataTexts)
  const format = useFormat()
  const name = (
    <th scope="row" className={styles.columnName}>
      <span className="v-mono">{column.name}</span>
      <span className={styles.type}>
        {column.type}
        {column.is_key ? ` · ${texts.key}` : ''}
      </span>
    </th>
  )
  if (column.skipped !== null)
    return (
      <tr>
        {name}
        <td colSpan={4} className="v-soft">
          {texts.skipped(column.skipped)}
        </td>
      </tr>
    )
  const share = profile.rows === 0 ? 0 : column.nulls / profile.rows
  return (
    <tr>
      {name}
      <td data-name={texts.nulls}>
        {about(column.nulls, column.nulls_exact, format)}
        {column.nulls === 0 ? null : <span className="v-soft"> · {format.percent(share)}</span>}
      </td>
      <td data-name={texts.distinct}>{about(column.distinct, column.distinct_exact, format)}</td>
      <td data-name={texts.range}>
        <Range column={column} />
      </td>
      <td data-name={texts.distribution}>
        <Distribution column={column} examined={profile.rows_examined} />
      </td>
    </tr>
  )
}

function Range({ column: { min, max, range_exact } }: { readonly column: MartColumnProfile }) {
  const texts = useTexts(dataTexts)
  if (min === null || max === null) return <span className="v-soft">{texts.noRange}</span>
  return (
    <span className={`v-mono ${styles.range}`}>
      <span title={min}>{min}</span>
      <span title={max}>{max}</span>
      {range_exact ? null : <span className={styles.type}>{texts.ofSample}</span>}
    </span>
  )
}

/** An estimate is marked as such. */
function about(value: number, isExact: boolean, format: Format): string {
  return `${isExact ? '' : '≈ '}${format.number(value)}`
}
