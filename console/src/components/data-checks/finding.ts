import type { CheckState } from '../../api/wire.js'

type Definition = CheckState['definition']
interface Finding {
  readonly definition: Definition
  readonly message: string
  readonly observed: number | null
}

/**
 * What a check found, in the language of the console. The message is English; what it says follows from the check and
 * from what was observed. If the check was changed since, or the message is an error of the database, it is shown as it is.
 */
export function findingText(finding: Finding, language: 'en' | 'ru'): string {
  const { message } = finding
  if (language === 'en') return message
  const found = sentences(finding).find(({ en }) => en === message)
  return found?.ru ?? message
}

interface Sentence {
  readonly en: string
  readonly ru: string
}

function sentences({ definition, message, observed }: Finding): Sentence[] {
  const columns = namesOf(definition)
  const names = columns.length > 1 ? `(${columns.join(', ')})` : columns.join('')
  switch (definition.type) {
    case 'not_null':
      return [{ en: `${columns.join(' or ')} is NULL.`, ru: `NULL в ${columns.join(' или ')}.` }]
    case 'unique':
      return [{ en: `${names} occurs more than once.`, ru: `${names} встречается больше одного раза.` }]
    case 'accepted_values': {
      const { values } = definition
      const shown = `${values.slice(0, 10).join(', ')}${values.length > 10 ? ', …' : ''}`
      return [{ en: `${names} is none of ${shown}.`, ru: `${names} не входит в список: ${shown}.` }]
    }
    case 'range':
      return [rangeSentence(names, definition)]
    case 'relationship': {
      const to = definition.to_columns ?? (definition.to_column == null ? null : [definition.to_column])
      const toNames = (to ?? columns).join(', ')
      return [
        {
          en: `${names} has no row in ${definition.to} (${toNames}).`,
          ru: `Для ${names} нет строки в ${definition.to} (${toNames}).`,
        },
      ]
    }
    case 'expression':
      return [{ en: `The condition is false: ${definition.sql}`, ru: `Условие ложно: ${definition.sql}` }]
    case 'row_count':
      return countSentences(definition, observed, message)
    case 'freshness':
      return freshnessSentences(definition, message)
  }
}

function namesOf(definition: Definition): readonly string[] {
  if ('columns' in definition && definition.columns !== undefined) return definition.columns
  return 'column' in definition && definition.column !== undefined ? [definition.column] : []
}

function rangeSentence(names: string, { min, max }: Extract<Definition, { type: 'range' }>): Sentence {
  const en = [
    ...(min === undefined ? [] : [`less than ${min}`]),
    ...(max === undefined ? [] : [`greater than ${max}`]),
  ]
  const ru = [
    ...(min === undefined ? [] : [`меньше ${min}`]),
    ...(max === undefined ? [] : [`больше ${max}`]),
  ]
  return { en: `${names} is ${en.join(' or ')}.`, ru: `${names} ${ru.join(' или ')}.` }
}

function countSentences(
  { min, max, usual }: Extract<Definition, { type: 'row_count' }>,
  rows: number | null,
  message: string,
): Sentence[] {
  const [, middle = '', results = ''] =
    /\(([\d.]+) is the median of the last (\d+) results\)/.exec(message) ?? []
  return [
    {
      en: `The mart has ${rows} rows, fewer than ${min}.`,
      ru: `Строк в витрине: ${rows}, меньше допустимых ${min}.`,
    },
    {
      en: `The mart has ${rows} rows, more than ${max}.`,
      ru: `Строк в витрине: ${rows}, больше допустимых ${max}.`,
    },
    {
      en: `The mart has ${rows} rows, outside ${middle} ± ${usual} % (${middle} is the median of the last ${results} results).`,
      ru: `Строк в витрине: ${rows}; обычно ${middle} (медиана последних результатов: ${results}), допустимое отклонение — ${usual} %.`,
    },
  ]
}

function freshnessSentences(
  { column, max_age }: Extract<Definition, { type: 'freshness' }>,
  message: string,
): Sentence[] {
  const [, newest = '', age = ''] = /^The newest value of .* is (.*), (\d+) s old; /.exec(message) ?? []
  return [
    {
      en: `The mart has no row with a value of ${column}.`,
      ru: `В витрине нет строки со значением ${column}.`,
    },
    {
      en: `The newest value of ${column} is ${newest}, ${age} s old; the limit is ${max_age}.`,
      ru: `Самое новое значение ${column} — ${newest}, его возраст ${age} с; допустимо ${max_age}.`,
    },
  ]
}
