import type { RunLog } from '../../api/runs.js'

/** One line per entry, times in UTC: exported text must be unambiguous. */
export function logText(pages: RunLog['pages']): string {
  const lines = pages.flat().map(({ at, level, message, fields }) => {
    const facts = Object.keys(fields).length === 0 ? '' : ` ${JSON.stringify(fields)}`
    return `${at} ${level.toUpperCase()} ${message}${facts}`
  })
  return `${lines.join('\n')}\n`
}
