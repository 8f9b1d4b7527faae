import { ActionIcon, Button, type ButtonProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { useSession } from '../../api/session.js'
import type { Role } from '../../api/wire.js'
import { useTexts } from '../../i18n/texts.js'
import { useReachable } from '../../live/live.js'
import { Icon, type IconName } from '../../theme/icons.js'
import { Tip } from '../text/Tip.js'
import { shared } from '../texts.js'

/** Why an action is not available; null: it is. `why` is a reason given by the screen. */
export function useRefusal(needed: Role, why: string | null = null): string | null {
  const texts = useTexts(shared)
  const { role, acts_as } = useSession()
  const isReachable = useReachable()
  if (!acts_as.includes(needed)) return texts.needsRole(needed, role)
  return isReachable ? why : texts.offline
}

interface Props extends ButtonProps {
  /** The role that the route requires. */
  readonly needs: Role
  /** Why the state of the object does not allow the action; null: it does. */
  readonly refusal?: string | null
  readonly icon?: IconName
  readonly onClick: () => void
  readonly children: ReactNode
}

/** A button that explains why it is disabled instead of being hidden. */
export function ActionButton({ needs, refusal = null, icon, onClick, children, ...rest }: Props) {
  const reason = useRefusal(needs, refusal)
  return (
    <Tip label={reason}>
      <Button
        variant="default"
        {...rest}
        leftSection={icon === undefined ? null : <Icon name={icon} size={14} />}
        data-disabled={reason !== null || undefined}
        aria-disabled={reason !== null}
        aria-description={reason ?? undefined}
        onClick={() => reason === null && onClick()}
      >
        {children}
      </Button>
    </Tip>
  )
}

interface IconProps {
  readonly needs: Role
  readonly refusal?: string | null
  readonly icon: IconName
  readonly label: string
  readonly onClick: () => void
}

/** The same as an icon, with the label as tooltip. */
export function ActionIconButton({ needs, refusal = null, icon, label, onClick }: IconProps) {
  const reason = useRefusal(needs, refusal)
  return (
    <Tip label={reason ?? label}>
      <ActionIcon
        size="md"
        aria-label={label}
        data-disabled={reason !== null || undefined}
        aria-disabled={reason !== null}
        aria-description={reason ?? undefined}
        onClick={(event) => {
          event.stopPropagation()
          if (reason === null) onClick()
        }}
      >
        <Icon name={icon} />
      </ActionIcon>
    </Tip>
  )
}
