import type { Language } from '../../i18n/texts.js'

/** A cron expression in a sentence; null when it is none. Loaded when the first one is shown: 12 kB packed. */
export async function cronWords(expression: string, language: Language): Promise<string | null> {
  const [{ default: cronstrue }] = await Promise.all([import('cronstrue'), import('cronstrue/locales/ru')])
  try {
    return cronstrue.toString(expression, {
      locale: language,
      use24HourTimeFormat: true,
      verbose: true,
      throwExceptionOnParseError: true,
    })
  } catch {
    return null
  }
}

export function isInterval(schedule: string): boolean {
  return /^(P(?=.)|(\d+[smhd])+$)/i.test(schedule)
}
