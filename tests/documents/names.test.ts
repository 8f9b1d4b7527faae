import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SETTINGS } from '../../src/config/settings.js'
import { ERRORS, vtr } from '../../src/model/errors.js'
import { STALE_CODES } from '../../src/model/freshness.js'
import { PIPELINE_STATUSES } from '../../src/model/status.js'
import { SINKS } from '../../src/sinks/index.js'
import { ROOT } from '../support/document-blocks.js'
import { codeIn, documents, presentDocuments, proseOf, proseText } from '../support/prose.js'

const present = presentDocuments()

/** Settings, codes and statuses; what begins with another program's name is that program's. */
const CAPITALS = new Set<string>([
  ...[SETTINGS, ...SINKS.map((sink) => sink.settings)].flatMap((table) => Object.keys(table)),
  ...Object.keys(ERRORS),
  ...PIPELINE_STATUSES,
  ...STALE_CODES,
  ...[...proseText('deploy/.env.sample').matchAll(/^#?([A-Z_]+)=/gm)].map(([, name]) => name!),
])
const OTHERS = /^(AWS|OTEL|TEST|VITRINA_TEST|AIRFLOW)_|^(NO_COLOR|WHEN_REQUIRED)$/
/** Logins, connections and a channel that begin like a metric. */
const NO_METRIC = /^vitrina_(reader|writer|meta|admin|capture|default|http|marts|conn_id|run_requested)$/

describe.each(present)('R7.7 %s', (file) => {
  it('names existing settings and errors', () => {
    const named = codeIn(file).flatMap((code) => code.match(/\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b/g) ?? [])
    expect(named.filter((name) => !CAPITALS.has(name) && !OTHERS.test(name))).toEqual([])
    const numbers = new Set<string>((Object.keys(ERRORS) as (keyof typeof ERRORS)[]).map(vtr))
    const cited = proseText(file).match(/VTR-\d{4}/g) ?? []
    expect(cited.filter((number) => !numbers.has(number))).toEqual([])
  })

  it('names existing metrics', () => {
    const named = codeIn(file).flatMap((code) => code.match(/\bvitrina_[a-z_]+\b/g) ?? [])
    const reference = proseText('docs/reference/metrics.md')
    const unknown = named.filter((name) => !NO_METRIC.test(name) && !reference.includes(`| \`${name}\` |`))
    expect(unknown).toEqual([])
  })
})

describe('R7.7 docs/API.md', () => {
  const { paths } = JSON.parse(readFileSync(join(ROOT, 'docs/reference/openapi.json'), 'utf8')) as {
    paths: Record<string, object>
  }
  const routes = Object.keys(paths).map((path) => path.replace('/api/v1', ''))

  it('describes every route', () => {
    const page = proseOf('docs/API.md')
    const isDescribed = (route: string) =>
      page.includes(`${route}\``) ||
      page.includes(`${route}?`) ||
      page.includes(`/${route.split('/').at(-1)}\``)
    expect(routes.filter((route) => !isDescribed(route))).toEqual([])
  })

  it.each(present)('the routes that %s names exist', (file) => {
    const named = codeIn(file).flatMap(
      (code) => /^(?:GET|POST|PATCH|PUT|DELETE) (\/[^\s?…]*)/.exec(code)?.[1] ?? [],
    )
    const plain = (route: string) => route.replace(/^\/api\/v1/, '').replace(/\{[^}]+\}|:\w+/g, '{}')
    const known = new Set([...routes.map(plain), '/openapi.json', '/docs', '/film_dim'])
    expect([...new Set(named)].filter((route) => !known.has(plain(route)))).toEqual([])
  })
})

describe('R7.7 docs/requirements.md', () => {
  const named = new Set(proseText('docs/requirements.md').match(/R\d\.\d+/g))

  it('has every number that code, tests and documents cite', () => {
    const files = ['src', 'tests']
      .flatMap((folder) =>
        readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
          join(folder, path),
        ),
      )
      .filter((path) => /\.(ts|sql)$/.test(path))
    const cited = [...files, ...documents()].flatMap(
      (file) => proseText(file).match(/\bR[1-7]\.\d+\b/g) ?? [],
    )
    expect([...new Set(cited)].filter((number) => !named.has(number))).toEqual([])
  })
})

describe('R7.7 docs/adr', () => {
  const decisions = documents().filter((file) => /docs\/adr\/\d{4}-/.test(file))

  it.each(decisions)('%s has a status, and is in the list', (file) => {
    expect(proseText(file)).toMatch(/^# \d{4} .+\n\nStatus: (accepted|superseded)/)
    expect(proseText('docs/adr/README.md')).toContain(`](${basename(file)})`)
  })
})
