import { Button, Group, Modal, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useTexts } from '../../i18n/texts.js'
import { ProblemCard } from '../layout/ProblemCard.js'
import { shared } from '../texts.js'

interface Props {
  readonly title: string
  /** The effect, in numbers. */
  readonly children: ReactNode
  /** The label of the button: the action itself, never "OK". */
  readonly action: string
  /** If data may be removed: the name that must be typed first. */
  readonly nameToType?: string
  readonly isDangerous?: boolean
  /** False: a field inside must be filled in first. */
  readonly isReady?: boolean
  readonly onConfirm: () => Promise<unknown>
  readonly onClose: () => void
}

/** Confirmation that scales with the damage: a sentence, a number, or typing the name. */
export function ConfirmDialog({
  title,
  children,
  action,
  nameToType,
  isDangerous,
  isReady = true,
  onConfirm,
  onClose,
}: Props) {
  const texts = useTexts(shared)
  const [typed, type] = useState('')
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const confirm = async () => {
    setBusy(true)
    try {
      await onConfirm()
      onClose()
    } catch (thrown) {
      setError(thrown)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Modal opened onClose={onClose} title={title} size="md">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void confirm()
        }}
        style={{ display: 'grid', gap: 14 }}
      >
        <div>{children}</div>
        {nameToType === undefined ? null : (
          <TextInput
            label={texts.typeName(nameToType)}
            value={typed}
            onChange={(event) => type(event.currentTarget.value)}
            data-autofocus
            autoComplete="off"
            spellCheck={false}
          />
        )}
        {error === null ? null : <ProblemCard error={error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {texts.cancel}
          </Button>
          <Button
            type="submit"
            color={isDangerous ? 'red' : 'blue'}
            loading={isBusy}
            disabled={!isReady || (nameToType !== undefined && typed !== nameToType)}
          >
            {action}
          </Button>
        </Group>
      </form>
    </Modal>
  )
}
