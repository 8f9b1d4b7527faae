import { usePreferences } from '../preferences/preferences.js'

export const BROWSER_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

/** The IANA name of the selected time zone. */
export function zoneName(preference: string): string {
  if (preference === 'utc') return 'UTC'
  return preference === 'browser' ? BROWSER_ZONE : preference
}

export function useZone(): string {
  return zoneName(usePreferences().zone)
}

const labels = new Map<string, Intl.DateTimeFormat>()

/** `UTC`, `GMT+3`, `MSK`: short enough to follow every time. */
export function zoneLabel(zone: string, at: number, language: string): string {
  const key = `${language} ${zone}`
  const format =
    labels.get(key) ?? new Intl.DateTimeFormat(language, { timeZone: zone, timeZoneName: 'short' })
  labels.set(key, format)
  const parts = format.formatToParts(at)
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? zone
}
