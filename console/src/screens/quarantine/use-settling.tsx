import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type RowChoice, type Settling, settleRows } from '../../api/quarantine.js'
import type { SettledRows } from '../../api/wire.js'
import { toastDone, toastProblem } from '../../components/actions/toast.js'
import { useTexts } from '../../i18n/texts.js'
import { quarantineTexts } from './texts.js'

export interface Settler {
  /** Throws if the server rejects the whole request. */
  discard(choice: RowChoice): Promise<void>
  /** Reports the result itself. */
  replay(choice: RowChoice): Promise<void>
  /** The result of each row, if some were rejected. */
  readonly result: SettledRows | null
  forget(): void
}

/** One request per click; then a notification, or a list of rejected rows. */
export function useSettling(onDone: () => void): Settler {
  const texts = useTexts(quarantineTexts)
  const [result, setResult] = useState<SettledRows | null>(null)
  const settle = async (action: Settling, choice: RowChoice) => {
    const settled = await settleRows(action, choice)
    onDone()
    if (settled.refused > 0) return setResult(settled)
    const done = action === 'replay' ? texts.didReplay(settled.rows) : texts.didDiscard(settled.rows)
    toastDone(done, action === 'replay' ? <Runs settled={settled} /> : undefined)
  }
  return {
    discard: (choice) => settle('discard', choice),
    replay: (choice) =>
      settle('replay', choice).catch((error: unknown) => toastProblem(texts.refused, error)),
    result,
    forget: () => setResult(null),
  }
}

/** Links to the runs that replay the rows. */
export function Runs({ settled: { pipelines } }: { readonly settled: SettledRows }) {
  const texts = useTexts(quarantineTexts)
  return (
    <>
      {pipelines.map(({ pipeline_id, pipeline_name, run_id }) => (
        <div key={pipeline_id}>
          {run_id === null ? (
            texts.byNextRun(pipeline_name)
          ) : (
            <Link to="/runs/$id" params={{ id: run_id }} className="v-link">
              {texts.openRun(pipeline_name)}
            </Link>
          )}
        </div>
      ))}
    </>
  )
}
