import { openSwitch } from '../switch.js'

/** True once the palette was opened: it is loaded then. */
export const paletteSwitch = openSwitch()

export function openPalette(): void {
  paletteSwitch.set(true)
}
