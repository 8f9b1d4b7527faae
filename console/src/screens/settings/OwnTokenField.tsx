import { PasswordInput } from '@mantine/core'
import { useTexts } from '../../i18n/texts.js'
import { tokensTexts } from './tokens-texts.js'

interface Props {
  readonly value: string
  readonly isMissing: boolean
  readonly onChange: (value: string) => void
}

/** The token of the user, entered again: a stolen session must not be able to create tokens. */
export function OwnTokenField({ value, isMissing, onChange }: Props) {
  const { confirmation } = useTexts(tokensTexts)
  return (
    <PasswordInput
      label={confirmation.label}
      description={confirmation.hint}
      error={isMissing ? confirmation.missing : null}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      autoComplete="current-password"
    />
  )
}
