import { useEffect, useState } from 'react'
import { actions } from '../../api/actions.js'
import type { RunDetail } from '../../api/wire.js'
import { ActionButton } from '../../components/ActionButton.js'
import { toastDone, toastProblem } from '../../components/toast.js'
import { useTexts } from '../../i18n/texts.js'
import { runTexts } from './texts.js'

/** A batch takes a second or so. One that still has not ended is stuck, and waiting is no answer any more. */
const PATIENCE_MS = 30_000

/** When this tab first saw that a run was asked to stop; going to another page and back does not start the wait anew. */
const seen = new Map<string, number>()

export function CancelButtons({ run }: { readonly run: RunDetail }) {
  const texts = useTexts(runTexts)
  const isLate = useLate(run)
  const act = async (deed: (id: string) => Promise<unknown>, done: string) => {
    try {
      await deed(run.id)
      toastDone(done)
    } catch (error) {
      toastProblem(texts.refused, error)
    }
  }
  if (isLate)
    return (
      <ActionButton
        needs="operator"
        icon="stop"
        color="red"
        variant="light"
        onClick={() => void act(actions.cutOff, texts.didForce)}
      >
        {texts.force}
      </ActionButton>
    )
  return (
    <ActionButton
      needs="operator"
      icon="stop"
      refusal={run.cancel_requested ? texts.cancelling : null}
      onClick={() => void act(actions.cancel, texts.didCancel)}
    >
      {texts.cancel}
    </ActionButton>
  )
}

/** It was asked to stop, and has not for so long that more has to be offered. */
export function useLate({ id, cancel_requested: isAsked }: RunDetail): boolean {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    if (!isAsked) return setLate(false)
    const since = seen.get(id) ?? performance.now()
    seen.set(id, since)
    const timer = setTimeout(() => setLate(true), Math.max(0, since + PATIENCE_MS - performance.now()))
    return () => clearTimeout(timer)
  }, [id, isAsked])
  return isLate
}
