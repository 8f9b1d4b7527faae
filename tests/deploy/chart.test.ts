import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readSettings, SETTINGS } from '../../src/config/settings.js'
import { SINKS } from '../../src/sinks/index.js'

const CHART = join(import.meta.dirname, '../../deploy/helm/vitrina')
const read = (path: string) => readFileSync(join(CHART, path), 'utf8')
const schema = JSON.parse(read('values.schema.json'))
const defaults = parse(read('values.yaml'))
const templates = readdirSync(join(CHART, 'templates')).map((name) => read(`templates/${name}`))
const allows = new Ajv({ strict: false }).compile(schema)
const settings: Record<string, { readonly isSecret?: true }> = Object.assign(
  {},
  SETTINGS,
  ...SINKS.map(({ settings }) => settings),
)
const known = new Set(Object.keys(settings))
const secrets = Object.keys(settings).filter((name) => settings[name]!.isSecret)

/** "npm run check:deploy" renders the chart with Helm and validates the objects. */
describe('the Helm chart', () => {
  it('has the version of the program', () => {
    const { version } = JSON.parse(readFileSync(join(CHART, '../../../package.json'), 'utf8'))
    expect(parse(read('Chart.yaml'))).toMatchObject({ version, appVersion: version })
  })

  it('has defaults that its schema allows, and describes each of them', () => {
    expect(allows(defaults), JSON.stringify(allows.errors)).toBe(true)
    expect(Object.keys(defaults).filter((name) => !(name in schema.properties))).toEqual([])
  })

  it.each<[string, (values: Record<string, never>) => unknown]>([
    ['a misspelled value', (values) => ({ ...values, replicas: 2 })],
    ['a secret among the settings', (values) => ({ ...values, settings: { DATABASE_URL: 'postgres://x' } })],
    ['tags that are not tags', (values) => withPool(values, { tags: "a:1');" })],
    ['tags that a runner rejects', (values) => withPool(values, { tags: 'Heavy:1' })],
    ['more runs than a runner accepts', (values) => withPool(values, { concurrency: 65 })],
    ['a limit of zero', (values) => ({ ...values, connectionLimits: { main: 0 } })],
  ])('its schema rejects %s', (_, change) => {
    expect(allows(change(defaults))).toBe(false)
  })

  it.each(['heavy:1', '*:4', 'heavy:0,*:4', 'a-b_c:12,d:3'])(
    'allows the tags %s as a runner does',
    (tags) => {
      expect(allows(withPool(defaults, { tags }))).toBe(true)
      expect(() => readSettings({ RUNNER_TAGS: tags })).not.toThrow()
    },
  )

  it('sets only variables that are settings', () => {
    const named = templates.flatMap((text) =>
      [...text.matchAll(/name: ([A-Z][A-Z_]+)|"name" "([A-Z_]+)"/g)].map((match) => match[1] ?? match[2]!),
    )
    expect(named.length).toBeGreaterThan(8)
    expect([...named, ...Object.keys(defaults.settings)].filter((name) => !known.has(name))).toEqual([])
  })

  it.each([
    ...secrets,
    'VITRINA_CHANNEL_OPS',
    'VITRINA_CONNECTION_CRM_URL',
    'VITRINA_CONNECTION_CRM_CAPTURE_URL',
    'OTEL_EXPORTER_OTLP_HEADERS',
    'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    'AWS_SECRET_ACCESS_KEY',
    'PGPASSWORD',
  ])('keeps %s out of the ConfigMap', (name) => {
    expect(allows({ ...defaults, settings: { ...defaults.settings, [name]: 'x' } })).toBe(false)
  })

  it('takes secrets only from existing ones', () => {
    expect(templates.join('\n')).not.toMatch(/kind: Secret/)
    for (const name of ['DATABASE_URL', 'VITRINA_API_TOKEN'] as const)
      expect(SETTINGS[name]).toMatchObject({ isSecret: true })
  })
})

function withPool(values: Record<string, never>, change: object): unknown {
  return { ...values, runnerPools: { default: { concurrency: 4, ...change } } }
}
