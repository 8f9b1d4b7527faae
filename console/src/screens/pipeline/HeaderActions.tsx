import { ActionIcon, Menu } from '@mantine/core'
import { actions } from '../../api/actions.js'
import type { PipelineLine } from '../../api/wire.js'
import { ActionButton, useRefusal } from '../../components/actions/ActionButton.js'
import { actionTexts } from '../../components/actions/action-texts.js'
import { toastDone, toastProblem } from '../../components/actions/toast.js'
import { usePipelineActions } from '../../components/actions/use-pipeline-actions.js'
import { OneWidth } from '../../components/layout/OneWidth.js'
import { activityOf, isActive } from '../../facts/activity.js'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { Icon } from '../../theme/icons.js'

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
      <RunWithMenu line={line} />
      <ActionButton needs="operator" icon="pause" refusal={pause.refusal} onClick={pause.onClick}>
        {pause.label}
      </ActionButton>
      <ActionButton needs="operator" icon={line.enabled ? 'ban' : 'check'} onClick={toggle.onClick}>
        <OneWidth also={line.enabled ? texts.enable : texts.disable}>{toggle.label}</OneWidth>
      </ActionButton>
    </>
  )
}

const WAVES = ['upstream', 'downstream', 'all'] as const

/** A wave of runs: each starts after those that it follows. */
function RunWithMenu({ line: { id, name, enabled } }: { readonly line: PipelineLine }) {
  const texts = useTexts(actionTexts)
  const refusal = useRefusal('operator', enabled ? null : texts.isDisabled)
  const request = (wave: (typeof WAVES)[number]) =>
    actions.runWith(id, wave).then(
      ({ runs }) => toastDone(texts.didRunWith(runs?.length ?? 1)),
      (error) => toastProblem(texts.failed(name), error),
    )
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon size="input-xs" variant="default" aria-label={texts.runWith} title={texts.runWith}>
          <Icon name="down" size={14} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {WAVES.map((wave) => (
          <Menu.Item
            key={wave}
            disabled={refusal !== null}
            title={refusal ?? undefined}
            onClick={() => void request(wave)}
          >
            {texts.waves[wave]}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
