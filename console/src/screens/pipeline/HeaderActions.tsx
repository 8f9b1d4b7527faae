import { actions } from '../../api/actions.js'
import type { PipelineLine } from '../../api/wire.js'
import { ActionButton, useRefusal } from '../../components/ActionButton.js'
import { OneWidth } from '../../components/OneWidth.js'
import { toastDone, toastProblem } from '../../components/toast.js'
import { activityOf, isActive } from '../../facts/activity.js'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { pipelineTexts } from './texts.js'

/** Run, pause and cancel need no confirmation: each can be undone. */
export function HeaderActions({ line }: { readonly line: PipelineLine }) {
  const texts = useTexts(pipelineTexts)
  const { id, name, enabled, status, current_run: run } = line
  const isBusy = isActive(activityOf(line))
  const act = async (action: () => Promise<unknown>, done: string) => {
    try {
      await action()
      toastDone(done)
    } catch (error) {
      toastProblem(texts.refused(name), error)
    }
  }
  const runRefusal = isBusy ? texts.isBusy : enabled ? null : texts.isDisabled
  const pauseRefusal = status === 'RUNNING' ? null : texts.isNotRunning
  const doRun = () => void act(() => actions.run(id), texts.didRun(name))
  const doPause = () => void act(() => actions.pause(id), texts.didPause(name))
  useShortcut('r', texts.run, doRun, useRefusal('operator', runRefusal) === null)
  useShortcut('p', texts.pause, doPause, useRefusal('operator', pauseRefusal) === null)
  return (
    <>
      {isBusy && run !== null ? (
        <ActionButton
          needs="operator"
          icon="stop"
          refusal={run.cancel_requested ? texts.stopsAfterBatch : null}
          onClick={() => void act(() => actions.cancel(run.id), texts.didCancel(name))}
        >
          <OneWidth also={texts.run} isOnPhones>
            {texts.cancelRun}
          </OneWidth>
        </ActionButton>
      ) : (
        <ActionButton needs="operator" icon="play" variant="filled" refusal={runRefusal} onClick={doRun}>
          <OneWidth also={texts.cancelRun} isOnPhones>
            {texts.run}
          </OneWidth>
        </ActionButton>
      )}
      <ActionButton needs="operator" icon="pause" refusal={pauseRefusal} onClick={doPause}>
        {texts.pause}
      </ActionButton>
      <ActionButton
        needs="operator"
        icon={enabled ? 'ban' : 'check'}
        onClick={() =>
          void act(
            () => (enabled ? actions.disable(id) : actions.enable(id)),
            enabled ? texts.didDisable(name) : texts.didEnable(name),
          )
        }
      >
        <OneWidth also={enabled ? texts.enable : texts.disable}>
          {enabled ? texts.disable : texts.enable}
        </OneWidth>
      </ActionButton>
    </>
  )
}
