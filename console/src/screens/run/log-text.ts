import type { RunLog } from '../../api/runs.js'

/** One line for each, times in UTC: what leaves the console must mean the same everywhere. */
export function logText(pages: RunLog['pages']): string {
  const lines = pages.flat().map(({ at, level, message, fields }) => {
    const facts = Object.keys(fields).length === 0 ? '' : ` ${JSON.stringify(fields)}`
    return `${at} ${level.toUpperCase()} ${message}${facts}`
  })
  return `${lines.join('\n')}\n`
}

export function downloadText(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/plain;charset=utf-8' }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // The browser has it once the click is handled.
  setTimeout(() => URL.revokeObjectURL(address), 1_000)
}
