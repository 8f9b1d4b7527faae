import { Button, type ButtonProps } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { askForFile } from '../../api/client.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { shared } from '../texts.js'
import { saveFile } from './save-file.js'
import { toastProblem } from './toast.js'

interface Props extends Pick<ButtonProps, 'size' | 'variant'> {
  /** An address of the API. */
  readonly from: string
  /** The name of the file. */
  readonly as: string
  readonly children: ReactNode
}

/** Saves a response of the API. Not a link: a link cannot send the session key. */
export function DownloadButton({ from, as, children, variant = 'default', ...rest }: Props) {
  const texts = useTexts(shared)
  const { mutate, isPending } = useMutation({
    mutationFn: () => askForFile(from),
    onSuccess: (file) => saveFile(as, file),
    onError: (error) => toastProblem(texts.downloadFailed, error),
  })
  return (
    <Button
      {...rest}
      variant={variant}
      loading={isPending}
      leftSection={<Icon name="download" size={14} />}
      onClick={() => mutate()}
    >
      {children}
    </Button>
  )
}
