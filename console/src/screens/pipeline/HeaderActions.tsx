import type { PipelineLine } from '../../api/wire.js'
import { ActionButton, useRefusal } from '../../components/ActionButton.js'
import { actionTexts } from '../../components/action-texts.js'
import { OneWidth } from '../../components/OneWidth.js'
import { usePipelineActions } from '../../components/use-pipeline-actions.js'
import { activityOf, isActive } from '../../facts/activity.js'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'

/** Run, pause and cancel need no confirmation: each can be undone. */
export function HeaderActions({ line }: { readonly line: PipelineLine }) {
  const texts = useTexts(actionTexts)
  const { run, pause, cancel, toggle } = usePipelineActions()(line)
  useShortcut(
    { keys: 'r', label: run.label, isOn: useRefusal('operator', run.refusal) === null },
    run.onClick,
  )
  useShortcut(
    { keys: 'p', label: pause.label, isOn: useRefusal('operator', pause.refusal) === null },
    pause.onClick,
  )
  return (
    <>
      {isActive(activityOf(line)) && line.current_run !== null ? (
        <ActionButton needs="operator" icon="stop" refusal={cancel.refusal} onClick={cancel.onClick}>
          <OneWidth also={run.label} isOnPhones>
            {cancel.label}
          </OneWidth>
        </ActionButton>
      ) : (
        <ActionButton
          needs="operator"
          icon="play"
          variant="filled"
          refusal={run.refusal}
          onClick={run.onClick}
        >
          <OneWidth also={cancel.label} isOnPhones>
            {run.label}
          </OneWidth>
        </ActionButton>
      )}
      <ActionButton needs="operator" icon="pause" refusal={pause.refusal} onClick={pause.onClick}>
        {pause.label}
      </ActionButton>
      <ActionButton needs="operator" icon={line.enabled ? 'ban' : 'check'} onClick={toggle.onClick}>
        <OneWidth also={line.enabled ? texts.enable : texts.disable}>{toggle.label}</OneWidth>
      </ActionButton>
    </>
  )
}
