import { Flex } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { asProblem } from '../../api/problem.js'
import grid from '../../components/layout/grid.module.css'
import { Badge, type Tone } from '../../components/status/Badge.js'
import { DiffView } from '../../components/text/DiffView.js'
import { useTexts } from '../../i18n/texts.js'
import type { IconName } from '../../theme/icons.js'
import styles from './import.module.css'
import type { Planned } from './plan.js'
import { importTexts } from './texts.js'

const BADGES: Readonly<Record<Planned['outcome'], { tone: Tone; icon: IconName }>> = {
  create: { tone: 'run', icon: 'plus' },
  update: { tone: 'run', icon: 'retry' },
  unchanged: { tone: 'rest', icon: 'dash' },
  undecided: { tone: 'warn', icon: 'warn' },
  refused: { tone: 'bad', icon: 'cross' },
}

/** `saved`: the result of each pipeline by name: an id or an error. */
export type Saved = ReadonlyMap<string, string | Error>

export function PlannedList({ plan, saved }: { readonly plan: readonly Planned[]; readonly saved: Saved }) {
  return (
    <Flex component="ul" className={styles.plan} direction="column" gap={14}>
      {plan.map((each) => (
        <Entry key={each.written.name} planned={each} saved={saved.get(each.written.name)} />
      ))}
    </Flex>
  )
}

interface EntryProps {
  readonly planned: Planned
  readonly saved: string | Error | undefined
}

function Entry({ planned, saved }: EntryProps) {
  const texts = useTexts(importTexts)
  const { written, existing, outcome, dryRun } = planned
  const id = typeof saved === 'string' ? saved : existing?.id
  const error = saved instanceof Error ? saved : planned.error
  const count = Object.keys(dryRun?.changes ?? {}).length
  return (
    <li aria-label={written.name}>
      <Flex rowGap={4} columnGap={14} align="baseline" wrap="wrap">
        {id === undefined ? (
          <strong>{written.name}</strong>
        ) : (
          <Link to="/pipelines/$id/overview" params={{ id }} className="v-link">
            <strong>{written.name}</strong>
          </Link>
        )}
        <Badge {...BADGES[outcome]}>{texts.outcomes[outcome]}</Badge>
        {saved === undefined ? null : (
          <Badge tone={error === null ? 'ok' : 'bad'} icon={error === null ? 'check' : 'cross'}>
            {error === null ? texts.done : texts.notDone}
          </Badge>
        )}
      </Flex>
      {error === null ? null : <Refusal error={error} />}
      {dryRun === null || existing === null ? null : (
        <p className="v-soft">{texts.checkpointEffect[dryRun.checkpoint]}</p>
      )}
      {count === 0 ? null : (
        <details open={existing !== null}>
          <summary>{texts.fields(count)}</summary>
          <div className={grid.scroll}>
            <DiffView changes={dryRun!.changes as never} />
          </div>
        </details>
      )}
    </li>
  )
}

function Refusal({ error }: { readonly error: unknown }) {
  const { problem } = asProblem(error)
  return (
    <div className={styles.refusal}>
      <code className="v-mono">{problem.code}</code> {problem.detail}{' '}
      {(problem.errors ?? []).map(({ field, message }) => `${field}: ${message}`).join('; ')}{' '}
      <span className="v-soft">{problem.hint}</span>
    </div>
  )
}
