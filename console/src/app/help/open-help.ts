import { openSwitch } from '../switch.js'

/** Whether the list of shortcuts is shown. */
export const helpSwitch = openSwitch()

export function openHelp(): void {
  helpSwitch.set(true)
}
