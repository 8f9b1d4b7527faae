import { Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { CheckState } from '../../api/wire.js'
import { useFormat } from '../../i18n/format.js'
import { useLanguage, useTexts } from '../../i18n/texts.js'
import type { IconName } from '../../theme/icons.js'
import grid from '../layout/grid.module.css'
import { Scrollable } from '../layout/Scrollable.js'
import { Badge, type Tone } from '../status/Badge.js'
import { TimeText } from '../text/TimeText.js'
import { Tip } from '../text/Tip.js'
import styles from './data-checks.module.css'
import { findingText } from './finding.js'
import { dataCheckTexts } from './texts.js'

type Status = CheckState['status']

const LOOKS: Readonly<Record<Status, { tone: Tone; icon: IconName }>> = {
  passed: { tone: 'ok', icon: 'check' },
  warned: { tone: 'warn', icon: 'warn' },
  quarantined: { tone: 'hold', icon: 'quarantine' },
  failed: { tone: 'bad', icon: 'cross' },
  error: { tone: 'bad', icon: 'ban' },
  unknown: { tone: 'rest', icon: 'dash' },
}

interface Props {
  readonly checks: readonly CheckState[]
  /** In the list of all pipelines. */
  readonly withPipeline?: boolean
}

/** Data checks with their last results. */
export function CheckTable({ checks, withPipeline = false }: Props) {
  const { title, columns } = useTexts(dataCheckTexts)
  return (
    <Scrollable className={grid.scroll} label={title}>
      <table className={`${grid.grid} ${grid.stacked}`}>
        <thead>
          <tr>
            {withPipeline ? <th scope="col">{columns.pipeline}</th> : null}
            <th scope="col">{columns.check}</th>
            <th scope="col">{columns.status}</th>
            <th scope="col">{columns.found}</th>
            <th scope="col">{columns.history}</th>
            <th scope="col">{columns.checked}</th>
          </tr>
        </thead>
        <tbody>
          {checks.map((check) => (
            <Row key={`${check.pipeline_id} ${check.name}`} check={check} withPipeline={withPipeline} />
          ))}
        </tbody>
      </table>
    </Scrollable>
  )
}

function Row({ check, withPipeline }: { readonly check: CheckState; readonly withPipeline: boolean }) {
  const texts = useTexts(dataCheckTexts)
  const { name, type, on_failure, over, status } = check
  return (
    <tr>
      {withPipeline ? (
        <td data-name={texts.columns.pipeline}>
          <Link to="/pipelines/$id/checks" params={{ id: check.pipeline_id }} className="v-link">
            {check.pipeline_name}
          </Link>
        </td>
      ) : null}
      <td data-name={texts.columns.check}>
        <strong className="v-mono">{name}</strong>
        <div className="v-soft">
          {texts.types[type]} · {texts.overs[over]}
        </div>
        <div className="v-soft">{texts.onFailure(texts.reactions[on_failure])}</div>
      </td>
      <td data-name={texts.columns.status}>
        <Badge {...LOOKS[status]}>{texts.statuses[status]}</Badge>
      </td>
      <td data-name={texts.columns.found}>
        <Found check={check} />
      </td>
      <td data-name={texts.columns.history}>
        <History check={check} />
      </td>
      <td data-name={texts.columns.checked}>
        <Checked check={check} />
      </td>
    </tr>
  )
}

function Found({ check }: { readonly check: CheckState }) {
  const { type, message, failed_rows, sample, observed } = check
  const language = useLanguage()
  const texts = useTexts(dataCheckTexts)
  const format = useFormat()
  if (message === '' && observed === null) return <span className="v-soft">–</span>
  return (
    <Stack className={styles.found} gap={2}>
      {message === '' ? null : <span>{findingText(check, language)}</span>}
      {failed_rows === 0 ? null : <span>{texts.failedRows(failed_rows)}</span>}
      {sample.length === 0 ? null : <span className="v-mono v-soft">{texts.sample(sample.join(', '))}</span>}
      {observed === null ? null : (
        <span className="v-soft">
          {type === 'freshness'
            ? texts.age(format.duration(observed * 1000))
            : texts.observed(format.number(observed))}
        </span>
      )}
    </Stack>
  )
}

/** The last results, oldest first. */
function History({ check: { history } }: { readonly check: CheckState }) {
  const texts = useTexts(dataCheckTexts)
  const words = history.map(({ status }) => texts.statuses[status]).join(', ')
  if (history.length === 0) return <span className="v-soft">–</span>
  return (
    <Tip label={words}>
      <span className={styles.dots} role="img" aria-label={words}>
        {history.toReversed().map(({ status, checked_at }) => (
          <span key={checked_at} className={styles.dot} data-status={status} />
        ))}
      </span>
    </Tip>
  )
}

function Checked({ check: { checked_at, run_id } }: { readonly check: CheckState }) {
  const texts = useTexts(dataCheckTexts)
  if (checked_at === null) return <span className="v-soft">–</span>
  return (
    <Stack className={styles.found} gap={2}>
      <TimeText at={checked_at} as="moment" />
      {run_id === null ? (
        <span className="v-soft">{texts.requested}</span>
      ) : (
        <Link to="/runs/$id" params={{ id: run_id }} className="v-link">
          {texts.openRun}
        </Link>
      )}
    </Stack>
  )
}
