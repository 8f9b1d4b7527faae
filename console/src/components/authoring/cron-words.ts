import type { Language } from '../../i18n/texts.js'

/** A cron expression in words; null if it is invalid. Loaded on first use: 12 kB compressed. */
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
