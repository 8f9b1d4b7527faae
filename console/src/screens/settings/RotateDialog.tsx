import { Select } from '@mantine/core'
import { useState } from 'react'
import { type NewToken, tokenActions } from '../../api/tokens.js'
import type { Token } from '../../api/wire.js'
import { ConfirmDialog } from '../../components/actions/ConfirmDialog.js'
import { toastDone } from '../../components/actions/toast.js'
import { useTexts } from '../../i18n/texts.js'
import { endOf, LIVES, type Life } from './expiry.js'
import { OwnTokenField } from './OwnTokenField.js'
import styles from './settings.module.css'
import { tokensTexts } from './tokens-texts.js'

interface Props {
  readonly token: Token
  readonly onMade: (made: NewToken) => void
  readonly onClose: () => void
}

const GRACES = { none: 0, h1: 3600, d1: 86_400, d7: 604_800 } as const
type Grace = keyof typeof GRACES

export function RotateDialog({ token, onMade, onClose }: Props) {
  const texts = useTexts(tokensTexts)
  const [grace, setGrace] = useState<Grace>('none')
  const [life, setLife] = useState<Life | 'keep'>('keep')
  const [ownToken, setOwnToken] = useState('')
  const rotate = async () => {
    const rotated = await tokenActions.rotate(token.id, {
      grace_seconds: GRACES[grace],
      ...(life === 'keep' ? {} : { expires_at: endOf(life) }),
      ownToken: ownToken.trim(),
    })
    toastDone(texts.didRotate(token.name))
    onMade(rotated)
  }
  return (
    <ConfirmDialog
      title={texts.rotateOf(token.name)}
      action={texts.rotation.rotate}
      isReady={ownToken.trim() !== ''}
      onConfirm={rotate}
      onClose={onClose}
    >
      <div className={styles.stack}>
        <p>{texts.rotation.text}</p>
        <Select
          label={texts.rotation.grace}
          description={texts.rotation.graceHint}
          data={Object.keys(GRACES).map((value) => ({ value, label: texts.rotation.graces[value as Grace] }))}
          value={grace}
          onChange={(value) => setGrace(value as Grace)}
          allowDeselect={false}
        />
        <Select
          label={texts.form.expires}
          data={(['keep', ...LIVES] as const).map((value) => ({ value, label: texts.expiry[value] }))}
          value={life}
          onChange={(value) => setLife(value as Life | 'keep')}
          allowDeselect={false}
        />
        <OwnTokenField value={ownToken} isMissing={false} onChange={setOwnToken} />
      </div>
    </ConfirmDialog>
  )
}
