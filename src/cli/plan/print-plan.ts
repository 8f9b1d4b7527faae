import { bad, bold, dim, good, print } from '../output/print.js'
import { lineDiff } from './line-diff.js'
import type { Plan } from './plan.js'
import type { PlannedChange } from './planned-changes.js'
import type { RulePlan } from './rule-plan.js'

/** The planned changes, pipeline by pipeline and field by field. */
export function printPlan({ rules, ...plan }: Plan, prune: boolean): void {
  const { creates, updates, unchanged, extra } = plan
  for (const { name, fields } of creates) {
    print(good(`+ create ${name}`))
    for (const [field, value] of Object.entries(fields)) printValue(field, value)
  }
  for (const { file, changes, impact } of updates) {
    print(bold(`~ update ${file.name}`))
    for (const change of changes) printChange(change)
    for (const line of impact) print(`    ! ${line}`)
  }
  for (const { name } of unchanged) print(dim(`= unchanged ${name}`))
  for (const { name } of extra) print(prune ? bad(`- delete ${name}`) : dim(`? not in files ${name}`))
  if (rules !== null) printRules(rules, prune)
  print(summary(plan, prune))
  if (rules !== null) print(`Notification rules: ${summary(rules, prune)}`)
}

function printRules({ creates, updates, unchanged, extra }: RulePlan, prune: boolean): void {
  for (const { name, fields } of creates) {
    print(good(`+ create notification ${name}`))
    for (const [field, value] of Object.entries(fields)) printValue(field, value)
  }
  for (const { file, changes } of updates) {
    print(bold(`~ update notification ${file.name}`))
    for (const change of changes) printChange(change)
  }
  for (const { name } of unchanged) print(dim(`= unchanged notification ${name}`))
  for (const { name } of extra)
    print(prune ? bad(`- delete notification ${name}`) : dim(`? not in files notification ${name}`))
}

function summary(
  { creates, updates, unchanged, extra }: Omit<Plan, 'rules'> | RulePlan,
  prune: boolean,
): string {
  const rest = `${extra.length} ${prune ? 'to delete' : 'not in files'}`
  return `${creates.length} to create, ${updates.length} to update, ${unchanged.length} unchanged, ${rest}.`
}

function printValue(field: string, value: unknown): void {
  const lines = shown(value).split('\n')
  print(lines.length === 1 ? `    ${field}: ${lines[0]}` : `    ${field}:`)
  if (lines.length > 1) for (const line of lines) print(`      ${line}`)
}

function printChange({ field, old, new: wanted }: PlannedChange): void {
  const [before, after] = [shown(old), shown(wanted)]
  const isLong = `${before}${after}`.includes('\n')
  print(isLong ? `    ${field}:` : `    ${field}: ${before} → ${after}`)
  if (isLong) for (const line of lineDiff(before, after)) print(`      ${coloured(line)}`)
}

function shown(value: unknown): string {
  if (typeof value === 'string') return value === '' ? '""' : value
  const isPlain =
    value === null ||
    typeof value !== 'object' ||
    Object.values(value).every((one) => typeof one !== 'object')
  return JSON.stringify(value, null, isPlain ? undefined : 2).replaceAll('\\n', '\n')
}

function coloured(line: string): string {
  if (line.startsWith('+')) return good(line)
  return line.startsWith('-') ? bad(line) : line
}

/** The plan for programs. */
export function planToJson({ creates, updates, unchanged, extra, rules }: Plan) {
  return {
    create: creates.map(({ name, fields }) => ({ name, fields })),
    update: updates.map(({ file, changes, impact }) => ({ name: file.name, changes, impact })),
    unchanged: unchanged.map(({ name }) => name),
    not_in_files: extra.map(({ name }) => name),
    ...(rules === null ? {} : { notifications: rulesToJson(rules) }),
  }
}

function rulesToJson({ creates, updates, unchanged, extra }: RulePlan) {
  return {
    create: creates.map(({ name, fields }) => ({ name, fields })),
    update: updates.map(({ file, changes }) => ({ name: file.name, changes })),
    unchanged: unchanged.map(({ name }) => name),
    not_in_files: extra.map(({ name }) => name),
  }
}
