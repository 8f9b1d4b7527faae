import { openSwitch } from '../switch.js'

/** Asked for at least once: only then is the palette loaded. */
export const paletteSwitch = openSwitch()

export function openPalette(): void {
  paletteSwitch.set(true)
}
