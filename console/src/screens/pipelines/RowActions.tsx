import { ActionIcon, Flex, Menu } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { PipelineLine } from '../../api/wire.js'
import { ActionIconButton, useRefusal } from '../../components/actions/ActionButton.js'
import { usePipelineActions } from '../../components/actions/use-pipeline-actions.js'
import { activityOf, isActive } from '../../facts/activity.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { pipelinesTexts } from './texts.js'

export function RowActions({ line }: { readonly line: PipelineLine }) {
  const { run, cancel } = usePipelineActions()(line)
  return (
    <Flex gap={2}>
      {isActive(activityOf(line)) && line.current_run !== null ? (
        <ActionIconButton needs="operator" icon="stop" {...cancel} />
      ) : (
        <ActionIconButton needs="operator" icon="play" {...run} />
      )}
      <RowMenu line={line} />
    </Flex>
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
  const { pause, toggle } = usePipelineActions()(line)
  const refusal = useRefusal('operator')
  const pauseRefusal = refusal ?? pause.refusal
  return (
    <>
      <Menu.Item
        leftSection={<Icon name="pause" size={14} />}
        disabled={pauseRefusal !== null}
        title={pauseRefusal ?? undefined}
        onClick={pause.onClick}
      >
        {pause.label}
      </Menu.Item>
      <Menu.Item
        leftSection={<Icon name={line.enabled ? 'ban' : 'check'} size={14} />}
        disabled={refusal !== null}
        title={refusal ?? undefined}
        onClick={toggle.onClick}
      >
        {toggle.label}
      </Menu.Item>
      <Menu.Divider />
      <Menu.Item
        leftSection={<Icon name="runs" size={14} />}
        component={Link}
        to="/pipelines/$id/runs"
        params={{ id: line.id } as never}
      >
        {texts.openRuns}
      </Menu.Item>
    </>
  )
}
