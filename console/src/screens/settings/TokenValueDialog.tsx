import { Button, CopyButton, Group, Modal, TextInput } from '@mantine/core'
import type { NewToken } from '../../api/tokens.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import styles from './settings.module.css'
import { tokensTexts } from './tokens-texts.js'

interface Props {
  readonly made: NewToken
  readonly onClose: () => void
}

/** The value is shown only here: a click outside must not close the dialog. */
export function TokenValueDialog({ made, onClose }: Props) {
  const { value: texts } = useTexts(tokensTexts)
  const title = made.rotated_at === null ? texts.created(made.name) : texts.rotated(made.name)
  const curl = `curl -H "Authorization: Bearer ${made.token}" ${window.location.origin}/api/v1/pipelines`
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <div className={styles.stack}>
        <p className={styles.once}>{texts.once}</p>
        <Copied label={texts.token} text={made.token} />
        <Copied label={texts.curl} text={curl} />
        <Group justify="flex-end">
          <Button onClick={onClose}>{texts.close}</Button>
        </Group>
      </div>
    </Modal>
  )
}

/** Without HTTPS the browser forbids copying; one click selects the text instead. */
function Copied({ label, text }: { readonly label: string; readonly text: string }) {
  const words = useTexts(shared)
  return (
    <div className={styles.secret}>
      <TextInput
        label={label}
        value={text}
        readOnly
        classNames={{ input: 'v-mono' }}
        onFocus={(event) => event.currentTarget.select()}
      />
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <Button
            variant="default"
            leftSection={<Icon name={copied ? 'check' : 'copy'} size={14} />}
            aria-label={`${words.copy}: ${label}`}
            onClick={copy}
          >
            {copied ? words.copied : words.copy}
          </Button>
        )}
      </CopyButton>
    </div>
  )
}
