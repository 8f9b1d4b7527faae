import { openSwitch } from '../switch.js'

/** Whether the help dialog is open. */
export const helpSwitch = openSwitch()

export function openHelp(): void {
  helpSwitch.set(true)
}
