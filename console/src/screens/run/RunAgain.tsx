import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { actions } from '../../api/actions.js'
import type { RunDetail } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { toastDone, toastProblem } from '../../components/actions/toast.js'
import { useTexts } from '../../i18n/texts.js'
import { runTexts } from './texts.js'

interface Props {
  readonly run: RunDetail
  readonly children: ReactNode
}

/** Starts another run of the same pipeline, from its checkpoint. */
export function RunAgain({ run, children }: Props) {
  const texts = useTexts(runTexts)
  const again = async () => {
    try {
      const { run_id } = await actions.run(run.pipeline_id)
      toastDone(
        texts.didRun(run.pipeline_name),
        <Link to="/runs/$id" params={{ id: run_id }} className="v-link">
          {texts.openRun}
        </Link>,
      )
    } catch (error) {
      toastProblem(texts.failed, error)
    }
  }
  return (
    <ActionButton needs="operator" icon="play" onClick={() => void again()}>
      {children}
    </ActionButton>
  )
}
