import styles from './log.module.css'

export interface ViewedLine {
  readonly id: number
  readonly at: string
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Lines that are laid out together when they come into view: a whole page of 1,000 took ten times as long. */
const STRIP = 100
/** Longer fields are easier to read on separate lines. */
const LONG = 100

/**
 * Creates the elements of `lines` in `page`, or only the missing ones. Without React, because lines never change: 100,000
 * components took 3 GB, and every page took longer than the one before.
 */
export function fillPage(page: HTMLElement, lines: readonly ViewedLine[], zone: string): void {
  const first = lines[0]
  const isGrown =
    page.dataset.zone === zone &&
    first !== undefined &&
    page.firstElementChild?.firstElementChild?.id === lineId(first.id)
  if (!isGrown) page.replaceChildren()
  page.dataset.zone = zone
  let strip = page.lastElementChild as HTMLElement | null
  let count =
    page.childElementCount === 0 ? 0 : (page.childElementCount - 1) * STRIP + strip!.childElementCount
  for (const line of lines.slice(count)) {
    if (count % STRIP === 0) {
      strip = element('div', undefined)
      page.append(strip)
    }
    strip!.append(elementOf(line, zone))
    count += 1
  }
  // An incomplete block is laid out at once: the reserved height of a full one would move the content below.
  for (const each of page.children) each.classList.toggle(styles.full ?? '', each.childElementCount === STRIP)
}

export function lineId(id: number): string {
  return `line-${id}`
}

/** Expands or collapses the fields of a line. */
export function toggleFacts(button: HTMLElement, line: ViewedLine): void {
  const isOpen = button.getAttribute('aria-expanded') === 'true'
  button.setAttribute('aria-expanded', String(!isOpen))
  const row = button.closest(`.${styles.line}`)
  if (isOpen) row?.querySelector('pre')?.remove()
  else row?.append(element('pre', styles.json, JSON.stringify(line.fields, null, 2)))
}

function elementOf(line: ViewedLine, zone: string): HTMLElement {
  const row = element('div', styles.line)
  row.id = lineId(line.id)
  const at = link(`?line=${line.id}`, clockOf(line.at, zone))
  at.className = styles.at ?? ''
  at.dataset.line = String(line.id)
  const text = element('span', undefined)
  text.append(...withLinks(`${line.message} `))
  const facts = factsOf(line.fields)
  if (facts !== '') {
    const fields = element('span', styles.fields)
    fields.append(...withLinks(facts))
    text.append(fields)
  }
  if (facts.length > LONG || Object.values(line.fields).some(isNested)) text.append(factsButton(line.id))
  row.append(at, element('span', styles[line.level as 'info'], line.level.toUpperCase()), text)
  return row
}

function factsButton(id: number): HTMLElement {
  const button = element('button', styles.more, 'JSON')
  button.setAttribute('type', 'button')
  button.setAttribute('aria-expanded', 'false')
  button.dataset.facts = String(id)
  return button
}

function element(name: string, className: string | undefined, text = ''): HTMLElement {
  const made = document.createElement(name)
  if (className !== undefined) made.className = className
  made.textContent = text
  return made
}

function link(href: string, text: string): HTMLAnchorElement {
  const made = document.createElement('a')
  made.href = href
  made.textContent = text
  return made
}

const ADDRESS = /(https?:\/\/[^\s"'<>()[\]{}]*[^\s"'<>()[\]{}.,;:!?])/

/** Only web addresses become links. */
function withLinks(text: string): (string | HTMLElement)[] {
  if (!text.includes('://')) return [text]
  return text.split(ADDRESS).map((part, n) => {
    if (n % 2 === 0) return part
    const made = link(part, part)
    made.target = '_blank'
    made.rel = 'noreferrer'
    made.className = 'v-link'
    return made
  })
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function factsOf(fields: ViewedLine['fields']): string {
  return Object.entries(fields)
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** 13:02:14.120: one formatter per time zone, because creating one costs more than a thousand lines. */
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
