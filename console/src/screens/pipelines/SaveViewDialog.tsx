import { Button, Group, Modal, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { setPreferences, usePreferences } from '../../preferences/preferences.js'
import { pipelinesTexts } from './texts.js'

interface Props {
  readonly search: string
  readonly onClose: () => void
}

/** Replaces an existing view of the same name. */
export function SaveViewDialog({ search, onClose }: Props) {
  const { views: texts } = useTexts(pipelinesTexts)
  const words = useTexts(shared)
  const { views } = usePreferences()
  const [text, setText] = useState('')
  const name = text.trim()
  const save = (event: FormEvent) => {
    event.preventDefault()
    if (name === '') return
    setPreferences({ views: [...views.filter((view) => view.name !== name), { name, search }] })
    onClose()
  }
  return (
    <Modal opened onClose={onClose} title={texts.save} size="sm">
      <form onSubmit={save}>
        <TextInput
          label={texts.name}
          maxLength={60}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          data-autofocus
        />
        <Group justify="flex-end" gap="xs" mt="md">
          <Button variant="default" onClick={onClose}>
            {words.cancel}
          </Button>
          <Button type="submit" disabled={name === ''}>
            {texts.keep}
          </Button>
        </Group>
      </form>
    </Modal>
  )
}
