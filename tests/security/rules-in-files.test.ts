// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references in files look like that.
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readPipelineFile } from '../../src/config/pipeline-file.js'
import { SourceText } from '../../src/config/source-text.js'
import { aFolder } from '../support/folders.js'

const text = { type: 'string' } as const
const NOTIFICATION = {
  type: 'object',
  additionalProperties: false,
  properties: {
    name: text,
    channel: text,
    events: { type: 'array', items: text },
    pipelines: { type: 'array', items: text },
  },
} as const

/** The rules of a file in a folder beside which a secret lies. */
async function read(lines: string) {
  const folder = await aFolder()
  const inner = join(folder, 'pipelines')
  await mkdir(inner)
  await writeFile(join(folder, 'secret'), 'canary-7f3a')
  await symlink('../secret', join(inner, 'link'))
  await writeFile(join(inner, '.env'), 'canary-7f3a')
  await mkdir(join(inner, '.git'))
  await writeFile(join(inner, '.git', 'config'), 'canary-7f3a')
  await symlink('.git/config', join(inner, 'visible'))
  const source = new SourceText(join(inner, 'rules.yaml'), `notifications:\n${lines}`)
  return readPipelineFile(source, { type: 'object' }, { notification: NOTIFICATION, allowEnv: ['*'] })
}

describe('a rule for notifications in a file of a pull request', () => {
  it.each([
    '${file:../secret}',
    '${file:link}',
    '${file:/etc/passwd}',
    '${file:/proc/self/environ}',
    '${file:.env}',
    '${file:.git/config}',
    '${file:visible}',
    '${env:VITRINA_API_TOKEN}',
    '${env:VITRINA_CHANNEL_OPS}',
    '${env:DATABASE_URL}',
    '${env:OPENLINEAGE_API_KEY}',
    '${env:DATABASE_URL_STAGING}',
    '${env:GITHUB_PAT}',
    '${env:SLACK_WEBHOOK}',
    '${env:AZURE_CONNECTION_STRING}',
  ])('cannot contain %s, in any of its fields', async (reference) => {
    const name = /env:(\w+)/.exec(reference)?.[1]
    if (name !== undefined) {
      const before = process.env[name]
      process.env[name] = 'canary-7f3a'
      onTestFinished(() => {
        if (before === undefined) delete process.env[name]
        else process.env[name] = before
      })
    }
    for (const field of [
      `name: "${reference}"`,
      `channel: "x ${reference}"`,
      `events: ["${reference}"]`,
      `pipelines: [a, "${reference}"]`,
    ]) {
      const result = await read(`  - ${field}\n`)
      expect(result.mistakes, field).toHaveLength(1)
      expect(JSON.stringify(result), field).not.toMatch(/canary-7f3a|root:/)
    }
  })

  it('cannot expand without limit', async () => {
    const bomb = [
      '  - &a0 {name: x}',
      ...Array.from({ length: 30 }, (_, n) => `  - &a${n + 1} {pipelines: [${`*a${n},`.repeat(9)}]}`),
    ]
    const { mistakes } = await read(`${bomb.join('\n')}\n`)
    expect(mistakes.length).toBeGreaterThan(0)
    expect(JSON.stringify(mistakes).length).toBeLessThan(200_000)
  })

  it('reads what a ConfigMap of Kubernetes mounts, as links into a folder that begins with two dots', async () => {
    const folder = await aFolder()
    await mkdir(join(folder, '..2026_01_01'))
    await writeFile(join(folder, '..2026_01_01', 'name'), 'film')
    await symlink('..2026_01_01', join(folder, '..data'))
    await symlink('..data/name', join(folder, 'name'))
    const source = new SourceText(join(folder, 'rules.yaml'), 'notifications:\n  - name: ${file:name}\n')
    const { notifications } = await readPipelineFile(
      source,
      { type: 'object' },
      { notification: NOTIFICATION },
    )
    expect(notifications?.map(({ name }) => name)).toEqual(['film'])
  })

  it('cannot fill the memory with one file, repeated', async () => {
    const folder = await aFolder()
    await writeFile(join(folder, 'big'), 'x'.repeat(1024 * 1024))
    const source = new SourceText(
      join(folder, 'rules.yaml'),
      `notifications:\n  - name: "${'${file:big}'.repeat(1000)}"\n`,
    )
    const { mistakes } = await readPipelineFile(source, { type: 'object' }, { notification: NOTIFICATION })
    expect(mistakes[0]?.message).toContain('more than 16 MiB')
  })

  it('rejects names that every JavaScript object inherits', async () => {
    for (const line of ['__proto__: {channel: x}', 'constructor: x', 'toString: x']) {
      const { mistakes } = await read(`  - name: a\n    ${line}\n`)
      expect(mistakes.map(({ message }) => message).join(), line).toMatch(/unknown field/)
    }
  })
})
