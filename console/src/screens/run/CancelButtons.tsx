import { useEffect, useState } from 'react'
import { actions } from '../../api/actions.js'
import type { RunDetail } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { perform } from '../../components/actions/perform.js'
import { useTexts } from '../../i18n/texts.js'
import { runTexts } from './texts.js'

/** A batch usually takes at most a second. One that takes longer than this is stuck. */
const TIMEOUT_MS = 30_000

/** When this tab first saw the cancel request; navigation does not restart the wait. */
const seen = new Map<string, number>()

export function CancelButtons({ run }: { readonly run: RunDetail }) {
  const texts = useTexts(runTexts)
  const isLate = useLate(run)
  const act = (action: (id: string) => Promise<unknown>, done: string) =>
    void perform(() => action(run.id), { done, failed: texts.failed })
  if (isLate)
    return (
      <ActionButton
        needs="operator"
        icon="stop"
        color="red"
        variant="light"
        onClick={() => act(actions.cutOff, texts.didForce)}
      >
        {texts.force}
      </ActionButton>
    )
  return (
    <ActionButton
      needs="operator"
      icon="stop"
      refusal={run.cancel_requested ? texts.cancelling : null}
      onClick={() => act(actions.cancel, texts.didCancel)}
    >
      {texts.cancel}
    </ActionButton>
  )
}

/** Whether cancelling takes so long that force stop is offered. */
export function useLate({ id, cancel_requested: isAsked }: RunDetail): boolean {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    if (!isAsked) return setLate(false)
    const since = seen.get(id) ?? performance.now()
    seen.set(id, since)
    const timer = setTimeout(() => setLate(true), Math.max(0, since + TIMEOUT_MS - performance.now()))
    return () => clearTimeout(timer)
  }, [id, isAsked])
  return isLate
}
