import type { AuditEntry } from '../../model/history.js'

const HEAD = ['id', 'at', 'actor', 'action', 'target_kind', 'target_id', 'target_name', 'diff', 'request_id']

/** RFC 4180. The names are those of the JSON. */
export async function* auditCsv(pages: AsyncIterable<readonly AuditEntry[]>): AsyncGenerator<string> {
  yield line(HEAD)
  for await (const page of pages) yield page.map((entry) => line(cells(entry))).join('')
}

function cells(entry: AuditEntry): string[] {
  return [
    String(entry.id),
    entry.at,
    entry.actor,
    entry.action,
    entry.targetKind,
    entry.targetId,
    entry.targetName ?? '',
    JSON.stringify(entry.diff),
    entry.requestId ?? '',
  ]
}

function line(values: readonly string[]): string {
  return `${values.map(cell).join(',')}\r\n`
}

/**
 * A spreadsheet would run a value with such a first character as a formula; the name of a pipeline may be chosen for
 * that.
 */
const FORMULA = /^[=+\-@\t\r]/

function cell(value: string): string {
  const harmless = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
