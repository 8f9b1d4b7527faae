import { ActionIcon, Menu } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { actions } from '../../api/actions.js'
import type { PipelineLine } from '../../api/wire.js'
import { ActionIconButton, useRefusal } from '../../components/ActionButton.js'
import { toastDone, toastProblem } from '../../components/toast.js'
import { activityOf, isActive } from '../../facts/activity.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import styles from './pipelines.module.css'
import { pipelinesTexts } from './texts.js'

type Texts = (typeof pipelinesTexts)['en']

/** Performs an action and reports the result. */
export async function act(
  action: () => Promise<unknown>,
  name: string,
  done: string,
  texts: Texts,
): Promise<void> {
  try {
    await action()
    toastDone(done)
  } catch (error) {
    toastProblem(texts.refused(name), error)
  }
}

export function RowActions({ line }: { readonly line: PipelineLine }) {
  const texts = useTexts(pipelinesTexts)
  const isBusy = isActive(activityOf(line))
  const { id, name, current_run: run } = line
  return (
    <div className={styles.rowActions}>
      {isBusy && run !== null ? (
        <ActionIconButton
          needs="operator"
          icon="stop"
          label={texts.cancelRun}
          refusal={run.cancel_requested ? texts.stopsAfterBatch : null}
          onClick={() => void act(() => actions.cancel(run.id), name, texts.didCancel(name), texts)}
        />
      ) : (
        <ActionIconButton
          needs="operator"
          icon="play"
          label={texts.run}
          refusal={line.enabled ? null : texts.isDisabled}
          onClick={() => void act(() => actions.run(id), name, texts.didRun(name), texts)}
        />
      )}
      <RowMenu line={line} />
    </div>
  )
}

/** The menu is created when it is first opened: a list has many rows. */
function RowMenu({ line }: { readonly line: PipelineLine }) {
  const texts = useTexts(pipelinesTexts)
  const [isOpen, open] = useState(false)
  const button = (
    <ActionIcon size="md" aria-label={texts.more(line.name)} aria-haspopup="menu" onClick={() => open(true)}>
      <Icon name="dots" />
    </ActionIcon>
  )
  if (!isOpen) return button
  return (
    <Menu opened onChange={open}>
      <Menu.Target>{button}</Menu.Target>
      <Menu.Dropdown>
        <MenuItems line={line} />
      </Menu.Dropdown>
    </Menu>
  )
}

function MenuItems({ line }: { readonly line: PipelineLine }) {
  const texts = useTexts(pipelinesTexts)
  const refusal = useRefusal('operator')
  const { id, name, enabled, status } = line
  const pauseRefusal = refusal ?? (status === 'RUNNING' ? null : texts.isNotRunning)
  return (
    <>
      <Menu.Item
        leftSection={<Icon name="pause" size={14} />}
        disabled={pauseRefusal !== null}
        title={pauseRefusal ?? undefined}
        onClick={() => void act(() => actions.pause(id), name, texts.didPause(name), texts)}
      >
        {texts.pause}
      </Menu.Item>
      <Menu.Item
        leftSection={<Icon name={enabled ? 'ban' : 'check'} size={14} />}
        disabled={refusal !== null}
        title={refusal ?? undefined}
        onClick={() =>
          void act(
            () => (enabled ? actions.disable(id) : actions.enable(id)),
            name,
            enabled ? texts.didDisable(name) : texts.didEnable(name),
            texts,
          )
        }
      >
        {enabled ? texts.disable : texts.enable}
      </Menu.Item>
      <Menu.Divider />
      <Menu.Item
        leftSection={<Icon name="runs" size={14} />}
        component={Link}
        to="/pipelines/$id/runs"
        params={{ id } as never}
      >
        {texts.openRuns}
      </Menu.Item>
    </>
  )
}
