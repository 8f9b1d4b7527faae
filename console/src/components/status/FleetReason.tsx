import { Flex } from '@mantine/core'
import { type Fleet, waitingReason } from '../../facts/runners.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './fleet-reason.module.css'
import { fleetTexts } from './fleet-texts.js'

export const START_RUNNER = 'vitrina runner'

/** Why queued pipelines wait. */
export function FleetReason({ queued, fleet }: { readonly queued: number; readonly fleet: Fleet }) {
  const texts = useTexts(fleetTexts)
  const reason = waitingReason(queued, fleet)
  const text = {
    noRunner: () => texts.noRunner(queued),
    busy: () => texts.busy(queued, fleet.slots),
    soon: () => texts.soon(queued),
    idle: () => texts.idle(fleet.alive, fleet.busy, fleet.slots),
  }[reason]()
  return (
    <Flex
      component="p"
      className={styles.why}
      rowGap={6}
      columnGap={10}
      align="center"
      wrap="wrap"
      data-reason={reason}
      role="status"
    >
      {text} {reason === 'noRunner' ? <code className="v-mono">{START_RUNNER}</code> : null}
    </Flex>
  )
}
