import { usePreferences } from '../preferences/preferences.js'

export const BROWSER_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

/** The IANA name of the zone that everything is shown in. */
export function zoneName(preference: string): string {
  if (preference === 'utc') return 'UTC'
  return preference === 'browser' ? BROWSER_ZONE : preference
}

export function useZone(): string {
  return zoneName(usePreferences().zone)
}

/** `UTC`, `GMT+3`, `MSK`: short enough to stand behind every time. */
export function zoneLabel(zone: string, at: number, language: string): string {
  const parts = new Intl.DateTimeFormat(language, { timeZone: zone, timeZoneName: 'short' }).formatToParts(at)
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? zone
}
