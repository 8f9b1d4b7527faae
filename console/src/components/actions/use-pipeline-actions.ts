import { actions } from '../../api/actions.js'
import type { PipelineLine } from '../../api/wire.js'
import { activityOf, isActive } from '../../facts/activity.js'
import { useTexts } from '../../i18n/texts.js'
import { actionTexts } from './action-texts.js'
import { perform } from './perform.js'

export interface PipelineAction {
  readonly label: string
  /** Why the state of the pipeline does not allow it; null: it does. Roles are checked by the button. */
  readonly refusal: string | null
  /** Sends the request and reports the result. */
  readonly onClick: () => void
}

type PipelineActions = Readonly<Record<'run' | 'pause' | 'cancel' | 'toggle', PipelineAction>>
type Texts = (typeof actionTexts)['en']

/** Run, pause, cancel, and enable or disable, as every screen offers them. For any line, because shortcuts serve a whole list. */
export function usePipelineActions(): (line: PipelineLine) => PipelineActions {
  const texts = useTexts(actionTexts)
  return (line) => {
    const { id, name, enabled, current_run: run } = line
    const send = (request: () => Promise<unknown>, done: (name: string) => string) => () =>
      void perform(request, { done: done(name), failed: texts.failed(name) })
    return {
      run: {
        label: texts.run,
        refusal: runRefusal(line, texts),
        onClick: send(() => actions.run(id), texts.didRun),
      },
      pause: {
        label: texts.pause,
        refusal: pauseRefusal(line, texts),
        onClick: send(() => actions.pause(id), texts.didPause),
      },
      cancel: {
        label: texts.cancel,
        refusal: run === null ? texts.isNotRunning : run.cancel_requested ? texts.isCancelling : null,
        onClick: send(async () => run && actions.cancel(run.id), texts.didCancel),
      },
      toggle: {
        label: enabled ? texts.disable : texts.enable,
        refusal: null,
        onClick: enabled
          ? send(() => actions.disable(id), texts.didDisable)
          : send(() => actions.enable(id), texts.didEnable),
      },
    }
  }
}

function runRefusal(line: PipelineLine, texts: Texts): string | null {
  if (isActive(activityOf(line))) return texts.isBusy
  return line.enabled ? null : texts.isDisabled
}

function pauseRefusal({ status }: PipelineLine, texts: Texts): string | null {
  if (status === 'PAUSE_REQUESTED') return texts.isPausing
  return status === 'RUNNING' ? null : texts.isNotRunning
}
