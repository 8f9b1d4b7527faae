import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './run.mjs'

const WIDTH = 640
const LABEL = 210
const BAR = 18
const GAP = 8
const TOP = 44
/** Dark enough on white, light enough for the text on it. */
const COLOUR = '#3b6fb6'

/** The plots of docs/guides/scaling.md, each a table of names and numbers of bench/figures/scaling.json. */
const PLOTS = {
  copy: {
    title: 'COPY from one database into another, rows/s',
    of: ({ limits }) => entries(limits.copy, 'rows_per_second'),
  },
  merge: {
    title: 'One merge (INSERT … ON CONFLICT), rows/s',
    of: ({ limits }) => entries(limits.merge, 'rows_per_second'),
  },
  wal: {
    title: 'WAL of one merge, bytes per row',
    of: ({ limits }) => entries(limits.merge, 'wal_bytes_per_row'),
  },
  sessions: {
    title: 'Sessions that read at once, queries/s together',
    of: ({ limits }) => entries(limits.sessions, 'queries_per_second'),
  },
  latency: {
    title: 'The same, p95 of one query in ms',
    of: ({ limits }) => entries(limits.sessions, 'p95_ms'),
  },
  checkpoints: {
    title: 'WAL of scattered updates, bytes per row',
    of: ({ limits }) => entries(limits.checkpoints, 'wal_bytes_per_row'),
  },
  runners: {
    title: '1,000 pipelines × 1,000 changed rows, runs/s',
    of: ({ fleet }) => entries(fleet.runs, 'runs_per_second'),
  },
  claims: {
    title: 'A claim, 10,000 pipelines and 1 M runs of history, ms of CPU',
    of: ({ fleet }) => entries(fleet.claims, 'cpu_ms'),
  },
}

export const PLOT_NAMES = Object.keys(PLOTS)

export function plot(name) {
  const { title, of } = PLOTS[name]
  const figures = JSON.parse(readFileSync(join(ROOT, 'bench', 'figures', 'scaling.json'), 'utf8'))
  return draw(title, of(figures))
}

function entries(table, field) {
  return Object.entries(table).map(([name, values]) => [name.replaceAll('_', ' '), values[field]])
}

function draw(title, rows) {
  const most = Math.max(...rows.map(([, value]) => value))
  const height = TOP + rows.length * (BAR + GAP) + GAP
  const bars = rows.map(([name, value], n) => {
    const y = TOP + n * (BAR + GAP)
    const width = Math.max(2, Math.round(((WIDTH - LABEL - 110) * value) / most))
    return [
      `<text x="${LABEL - 8}" y="${y + 13}" text-anchor="end">${escaped(name)}</text>`,
      `<rect x="${LABEL}" y="${y}" width="${width}" height="${BAR}" fill="${COLOUR}"/>`,
      `<text x="${LABEL + width + 6}" y="${y + 13}">${value.toLocaleString('en-US')}</text>`,
    ].join('\n')
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" font-family="sans-serif" font-size="12" fill="#1b1f24">
<title>${escaped(title)}</title>
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
<text x="12" y="24" font-size="14" font-weight="bold">${escaped(title)}</text>
${bars.join('\n')}
</svg>
`
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
