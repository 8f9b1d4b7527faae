import { z } from 'zod'

type Issue = Parameters<z.core.$ZodErrorMap>[0]

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' entries', set: ' entries' }

/** What is wrong with a value, as the end of a sentence that begins with its name. Undefined: zod's own words. */
function plainIssue(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${TYPES[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be ${alternatives(issue.values.map((value) => JSON.stringify(value) ?? String(value)))}`
    case 'too_small':
      return issue.origin === 'string' && issue.minimum === 1
        ? 'must not be empty'
        : bound(issue.inclusive === false ? 'more than' : 'at least', Number(issue.minimum), issue.origin)
    case 'too_big':
      return bound(issue.inclusive === false ? 'less than' : 'at most', Number(issue.maximum), issue.origin)
    case 'invalid_format':
      return issue.format === 'regex' ? undefined : `must be a valid ${issue.format}`
    case 'unrecognized_keys':
      return `has unknown fields: ${issue.keys.join(', ')}`
    case 'invalid_union':
      return 'does not match any of the allowed forms'
    default:
      return undefined
  }
}

function bound(relation: string, limit: number, origin: string): string {
  const unit = UNITS[origin]
  return unit === undefined ? `must be ${relation} ${limit}` : `must have ${relation} ${limit}${unit}`
}

function alternatives(values: readonly string[]): string {
  return values.length < 2 ? values.join('') : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`
}

z.config({ customError: plainIssue })
