import { Button, Group, Modal, Radio, Select, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { type NewToken, tokenActions } from '../../api/tokens.js'
import type { Role } from '../../api/wire.js'
import { toastDone } from '../../components/actions/toast.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { endOf, LIVES, type Life } from './expiry.js'
import { OwnTokenField } from './OwnTokenField.js'
import styles from './settings.module.css'
import { tokensTexts } from './tokens-texts.js'

interface Props {
  readonly onMade: (made: NewToken) => void
  readonly onClose: () => void
}

const ROLES: readonly Role[] = ['viewer', 'operator', 'admin']

export function CreateTokenDialog({ onMade, onClose }: Props) {
  const texts = useTexts(tokensTexts)
  const words = useTexts(shared)
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  const [life, setLife] = useState<Life>('d90')
  const [ownToken, setOwnToken] = useState('')
  const [isTried, setTried] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const isNamed = name.trim() !== ''
  const isProven = ownToken.trim() !== ''
  const create = async () => {
    setTried(true)
    if (!isNamed || !isProven) return
    setBusy(true)
    try {
      const request = { name: name.trim(), role, expires_at: endOf(life), ownToken: ownToken.trim() }
      const made = await tokenActions.create(request)
      toastDone(texts.didCreate(made.name))
      onMade(made)
    } catch (thrown) {
      setError(thrown)
      setBusy(false)
    }
  }
  return (
    <Modal opened onClose={onClose} title={texts.create} size="md">
      <form
        className={styles.stack}
        onSubmit={(event) => {
          event.preventDefault()
          void create()
        }}
      >
        <TextInput
          label={texts.form.name}
          description={texts.form.nameHint}
          error={isTried && !isNamed ? texts.form.nameMissing : null}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={200}
          autoComplete="off"
          data-autofocus
        />
        <Radio.Group label={texts.form.role} value={role} onChange={(value) => setRole(value as Role)}>
          <Stack gap={8}>
            {ROLES.map((each) => (
              <Radio key={each} value={each} label={each} description={texts.form.roles[each]} />
            ))}
          </Stack>
        </Radio.Group>
        <Select
          label={texts.form.expires}
          data={LIVES.map((value) => ({ value, label: texts.expiry[value] }))}
          value={life}
          onChange={(value) => setLife(value as Life)}
          allowDeselect={false}
        />
        <OwnTokenField value={ownToken} isMissing={isTried && !isProven} onChange={setOwnToken} />
        {error === null ? null : <ProblemCard error={error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {words.cancel}
          </Button>
          <Button type="submit" loading={isBusy}>
            {texts.form.create}
          </Button>
        </Group>
      </form>
    </Modal>
  )
}
