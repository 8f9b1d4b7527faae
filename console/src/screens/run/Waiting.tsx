import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { runnersQuery } from '../../api/runners.js'
import type { RunDetail } from '../../api/wire.js'
import { activityOfRun } from '../../components/status/RunStatusBadge.js'
import { type Holder, holderOf, isReleased } from '../../facts/holder.js'
import { fleetOf } from '../../facts/runners.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { useNow } from '../../time/clock.js'
import { useLate } from './CancelButtons.js'
import styles from './run.module.css'
import { runTexts } from './texts.js'

interface Props {
  readonly run: RunDetail
}

/** What an active run waits for, and the effect of Cancel. */
export function Waiting({ run }: Props) {
  return activityOfRun(run) === null ? null : <Sentences run={run} />
}

function Sentences({ run }: Props) {
  const texts = useTexts(runTexts)
  const { data: runners } = useQuery(runnersQuery)
  const holder = holderOf(run, runners ?? [], useNow())
  const isLate = useLate(run)
  if (run.status === 'REQUESTED')
    return run.waiting !== null ? (
      <Stuck waiting={run.waiting} />
    ) : (
      <p className="v-soft">
        {texts.waitsForRunner} · <ToRunners /> · {texts.cancelQueued}
      </p>
    )
  if (isReleased(run) || holder?.state === 'stopped')
    return <Released run={run} others={fleetOf(runners ?? []).alive} />
  if (holder?.state === 'silent') return <Silent run={run} holder={holder} isLate={isLate} />
  return (
    <p className="v-soft">
      {/* On its own line: a longer duration must not move the next sentence. */}
      <span className={styles.sign}>
        {holder === null && runners !== undefined ? null : <Sign holder={holder} />}
      </span>
      {isLate
        ? texts.forceEffect(run.batches)
        : run.cancel_requested
          ? texts.cancelling
          : texts.cancelEffect(run.batches, run.rows_written)}
    </p>
  )
}

/** It cannot start now: what is missing, and what to do. */
function Stuck({ waiting }: { readonly waiting: NonNullable<RunDetail['waiting']> }) {
  const texts = useTexts(runTexts)
  return (
    <section className={styles.held} role="status">
      <div className={styles.heldHead}>
        <Icon name="warn" />
        <strong>{waiting.detail}</strong>
      </div>
      <p>
        {waiting.hint} <ToRunners />
      </p>
      <p className="v-soft">{texts.cancelQueued}</p>
    </section>
  )
}

/** Null: unknown yet. */
function Sign({ holder }: { readonly holder: Holder | null }) {
  const { holder: texts } = useTexts(runTexts)
  const format = useFormat()
  return <>{texts.sign(holder === null ? '…' : format.duration(holder.silentMs))}</>
}

interface SilentProps extends Props {
  readonly holder: Holder
  readonly isLate: boolean
}

/** The holder has most likely failed: what happens next, and when. */
function Silent({ run, holder, isLate }: SilentProps) {
  const { holder: texts, forceEffect } = useTexts(runTexts)
  const format = useFormat()
  const { silentMs, leaseLeftMs, others } = holder
  return (
    <section className={styles.held} role="status">
      <div className={styles.heldHead}>
        <Icon name="warn" />
        <strong>{texts.silent(run.runner_id ?? '', format.duration(silentMs))}</strong>
      </div>
      <p>
        {leaseLeftMs === null || leaseLeftMs === 0
          ? texts.leaseOver
          : texts.leaseLeft(format.duration(leaseLeftMs))}{' '}
        {texts.resumes(run.batches)}
      </p>
      {isLate ? <p>{forceEffect(run.batches)}</p> : null}
      <p className="v-soft">
        {others === 0 ? texts.noOther : texts.others(others)} <ToRunners />
      </p>
    </section>
  )
}

/** No runner holds the run: the last one released it. */
function Released({ run, others }: Props & { readonly others: number }) {
  const { holder: texts, attempts } = useTexts(runTexts)
  const last = run.attempt_history.at(-1)
  return (
    <section className={styles.held} role="status">
      <div className={styles.heldHead}>
        <Icon name="dash" />
        <strong>{attempts.ends[last?.attempt === run.attempt ? last.end : 'given_back']}</strong>
      </div>
      <p>
        {texts.nextTakes} {texts.resumes(run.batches)}
      </p>
      <p className="v-soft">
        {others === 0 ? texts.startOne : texts.alive(others)} <ToRunners />
      </p>
    </section>
  )
}

function ToRunners() {
  const texts = useTexts(runTexts)
  return (
    <Link to="/runners" className="v-link">
      {texts.whoRuns}
    </Link>
  )
}
