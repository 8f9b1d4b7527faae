/** One exposed family: its type, and the labels and values of its samples. */
export interface Exposed {
  readonly type: string
  readonly labels: Map<string, Set<string>>
}

const SAMPLE = /^([a-z_]+)(?:\{(.*)\})? \S+$/
const LABEL = /([a-z_]+)="((?:\\.|[^"\\])*)"/g

/** What processes expose, by the names of families; several texts are merged. */
export function exposedBy(...texts: readonly string[]): Map<string, Exposed> {
  const families = new Map<string, Exposed>()
  for (const line of texts.flatMap((text) => text.split('\n'))) {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
    if (name !== undefined && !families.has(name)) families.set(name, { type: type ?? '', labels: new Map() })
    if (!line.startsWith('#') && line !== '') addSample(families, line)
  }
  return families
}

function addSample(families: Map<string, Exposed>, line: string): void {
  const [, series = '', labels = ''] = SAMPLE.exec(line) ?? []
  const family = families.get(familyOf(series, families) ?? '')
  if (family === undefined) throw new Error(`a sample without a family: ${line}`)
  for (const [, label = '', value = ''] of labels.matchAll(LABEL))
    family.labels.set(label, (family.labels.get(label) ?? new Set()).add(value))
}

/** A histogram has three series for each set of labels. Null: not exposed. */
export function familyOf(series: string, families: ReadonlyMap<string, Exposed>): string | null {
  if (families.has(series)) return series
  const base = series.replace(/_(bucket|sum|count)$/, '')
  return families.get(base)?.type === 'histogram' ? base : null
}
