import { usePreferences } from '../preferences/preferences.js'
import { stretch } from './pseudo.js'

export type Language = 'en' | 'ru'

// biome-ignore lint/suspicious/noExplicitAny: a text may take any parameters.
type Text = string | ((...facts: any[]) => string)
export interface TextTree {
  readonly [key: string]: Text | TextTree
}

/** The same keys and parameters, translated. */
type Translated<T> = {
  readonly [K in keyof T]: T[K] extends string
    ? string
    : T[K] extends (...facts: infer F) => string
      ? (...facts: F) => string
      : Translated<T[K]>
}

export interface Texts<T> {
  readonly en: T
  readonly ru: T
}

/**
 * The texts of one screen or component in both languages, next to the code that shows them. A key that is missing in one
 * language, or has other parameters, does not compile.
 */
export function defineTexts<const T extends TextTree>(en: T, ru: Translated<T>): Texts<Translated<T>> {
  return { en, ru } as unknown as Texts<Translated<T>>
}

export function useLanguage(): Language {
  const { language } = usePreferences()
  return language === 'ru' ? 'ru' : 'en'
}

export function useTexts<T extends object>(texts: Texts<T>): T {
  const { language } = usePreferences()
  return language === 'pseudo' ? stretch(texts.en) : texts[language]
}

const RULES = { en: new Intl.PluralRules('en'), ru: new Intl.PluralRules('ru') }
const NUMBERS = { en: new Intl.NumberFormat('en'), ru: new Intl.NumberFormat('ru') }

/** `#` stands for the number: `pluralEn(n, '# row', '# rows')`. */
export function pluralEn(n: number, one: string, other: string): string {
  return fill(RULES.en.select(n) === 'one' ? one : other, n, 'en')
}

/** `pluralRu(n, '# строка', '# строки', '# строк')`. */
// biome-ignore lint/complexity/useMaxParams: the three forms of a Russian noun, in the order of every grammar.
export function pluralRu(n: number, one: string, few: string, many: string): string {
  const form = RULES.ru.select(n)
  return fill(form === 'one' ? one : form === 'few' ? few : many, n, 'ru')
}

function fill(text: string, n: number, language: Language): string {
  return text.replace('#', NUMBERS[language].format(n))
}
