import { ActionIcon, Flex } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import type { RunDetail } from '../../api/wire.js'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { Icon } from '../../theme/icons.js'
import { runTexts } from './texts.js'

/** Links to the previous and the next run of the pipeline. */
export function Neighbours({ run }: { readonly run: RunDetail }) {
  const texts = useTexts(runTexts)
  return (
    <Flex component="nav" gap={2} aria-label={texts.neighbours}>
      <Neighbour id={run.previous_run_id} keys="[" icon="left" label={texts.previous} />
      <Neighbour id={run.next_run_id} keys="]" icon="right" label={texts.next} />
    </Flex>
  )
}

interface Props {
  readonly id: string | null
  readonly keys: string
  readonly icon: 'left' | 'right'
  readonly label: string
}

function Neighbour({ id, keys, icon, label }: Props) {
  const navigate = useNavigate()
  useShortcut(
    { keys, label, isOn: id !== null },
    () => id !== null && void navigate({ to: '/runs/$id', params: { id } }),
  )
  if (id === null)
    return (
      <ActionIcon size="md" aria-label={label} aria-disabled data-disabled>
        <Icon name={icon} />
      </ActionIcon>
    )
  return (
    <ActionIcon
      size="md"
      component={Link}
      to="/runs/$id"
      params={{ id } as never}
      aria-label={label}
      title={`${label}  ${keys}`}
    >
      <Icon name={icon} />
    </ActionIcon>
  )
}
