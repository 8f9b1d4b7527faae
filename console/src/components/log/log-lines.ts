import styles from './log.module.css'

export interface LogLine {
  readonly id: number
  readonly at: string
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Laid out together when they come into sight: a whole page of a thousand took ten times as long to appear. */
const STRIP = 100

/**
 * Makes the elements of `lines` in `page`, or only of those that came since. Without React, because lines never change:
 * a hundred thousand of them took 3 GB as components, and every new page longer than the one before.
 */
export function fillPage(page: HTMLElement, lines: readonly LogLine[], zone: string): void {
  const first = lines[0]
  const isGrown =
    page.dataset.zone === zone &&
    first !== undefined &&
    page.firstElementChild?.firstElementChild?.id === idOf(first)
  if (!isGrown) page.replaceChildren()
  page.dataset.zone = zone
  let strip = page.lastElementChild as HTMLElement | null
  let count =
    page.childElementCount === 0 ? 0 : (page.childElementCount - 1) * STRIP + strip!.childElementCount
  for (const line of lines.slice(count)) {
    if (count % STRIP === 0) {
      strip = element('div', styles.strip)
      page.append(strip)
    }
    strip!.append(elementOf(line, zone))
    count += 1
  }
}

function idOf({ id }: LogLine): string {
  return `line-${id}`
}

function elementOf(line: LogLine, zone: string): HTMLElement {
  const row = element('div', styles.line)
  row.id = idOf(line)
  const time = element('time', styles.at, clockOf(line.at, zone))
  time.setAttribute('datetime', line.at)
  const text = element('span', undefined, `${line.message} `)
  const facts = factsOf(line.fields)
  if (facts !== '') text.append(element('span', styles.fields, facts))
  row.append(time, element('span', styles[line.level as 'info'], line.level.toUpperCase()), text)
  return row
}

function element(name: string, className: string | undefined, text = ''): HTMLElement {
  const made = document.createElement(name)
  if (className !== undefined) made.className = className
  made.textContent = text
  return made
}

function factsOf(fields: LogLine['fields']): string {
  return Object.entries(fields)
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** 13:02:14.120: one formatter for each zone, because making one costs more than a thousand lines. */
function clockOf(at: string, zone: string): string {
  let format = formats.get(zone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      fractionalSecondDigits: 3,
    })
    formats.set(zone, format)
  }
  return format.format(Date.parse(at))
}
