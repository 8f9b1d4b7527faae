import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { describe, expect, it } from 'vitest'
import { readSettings, readTable, SETTINGS, type SettingsTable } from '../../src/config/settings.js'
import { ERRORS, vtr } from '../../src/model/errors.js'
import { SINKS } from '../../src/sinks/index.js'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

describe('.env.sample', () => {
  const sample = read('.env.sample')
  const uncommented = parseEnv(sample.replace(/^#(?=[A-Z0-9_]+=)/gm, '')) as Record<string, string>

  it('has every setting, each with its meaning, and no other', () => {
    const all: SettingsTable = Object.assign({}, SETTINGS, ...SINKS.map((sink) => sink.settings))
    expect(Object.keys(uncommented).sort()).toEqual(Object.keys(all).sort())
    for (const [name, { means }] of Object.entries(all)) expect(sample).toContain(`# ${means}\n#${name}=`)
  })

  it('changes nothing when it is copied unchanged', () => {
    expect(parseEnv(sample)).toEqual({})
  })

  it('shows values that the program accepts', () => {
    expect(() => readSettings(uncommented)).not.toThrow()
    for (const { settings } of SINKS) expect(() => readTable(settings, uncommented)).not.toThrow()
  })
})

describe('docs/reference', () => {
  it('lists every error once, with its own number', () => {
    const page = read('docs/reference/errors.md')
    const codes = Object.keys(ERRORS) as (keyof typeof ERRORS)[]
    for (const code of codes) expect(page).toContain(`| \`${vtr(code)}\` | \`${code}\` |`)
    expect(new Set(codes.map(vtr)).size).toBe(codes.length)
  })
})
