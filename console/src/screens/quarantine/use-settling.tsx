import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type RowChoice, type Settling, settleRows } from '../../api/quarantine.js'
import type { SettledRows } from '../../api/wire.js'
import { toastDone, toastProblem } from '../../components/toast.js'
import { useTexts } from '../../i18n/texts.js'
import { quarantineTexts } from './texts.js'

export interface Settler {
  /** Throws what the server refused altogether. */
  discard(choice: RowChoice): Promise<void>
  /** Says itself what came of it. */
  replay(choice: RowChoice): Promise<void>
  /** What became of each row, when some were refused. */
  readonly result: SettledRows | null
  forget(): void
}

/** One request for one click; then a word about it, or a list of those that were refused. */
export function useSettling(onDone: () => void): Settler {
  const texts = useTexts(quarantineTexts)
  const [result, setResult] = useState<SettledRows | null>(null)
  const settle = async (deed: Settling, choice: RowChoice) => {
    const settled = await settleRows(deed, choice)
    onDone()
    if (settled.refused > 0) return setResult(settled)
    const done = deed === 'replay' ? texts.didReplay(settled.rows) : texts.didDiscard(settled.rows)
    toastDone(done, deed === 'replay' ? <Runs settled={settled} /> : undefined)
  }
  return {
    discard: (choice) => settle('discard', choice),
    replay: (choice) =>
      settle('replay', choice).catch((error: unknown) => toastProblem(texts.refused, error)),
    result,
    forget: () => setResult(null),
  }
}

/** Where to see how the second try goes. */
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
