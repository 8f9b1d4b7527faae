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
  const source = new SourceText(join(inner, 'rules.yaml'), `notifications:\n${lines}`)
  return readPipelineFile(source, { type: 'object' }, { notification: NOTIFICATION, allowEnv: ['*'] })
}

describe('a rule for notifications in a file of a pull request', () => {
  it.each([
    '${file:../secret}',
    '${file:link}',
    '${file:/etc/passwd}',
    '${file:/proc/self/environ}',
    '${env:VITRINA_API_TOKEN}',
    '${env:VITRINA_CHANNEL_OPS}',
    '${env:DATABASE_URL}',
    '${env:OPENLINEAGE_API_KEY}',
  ])('cannot contain %s, in any of its fields', async (reference) => {
    for (const name of ['VITRINA_API_TOKEN', 'VITRINA_CHANNEL_OPS', 'DATABASE_URL', 'OPENLINEAGE_API_KEY']) {
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

  it('has fields of its own only', async () => {
    for (const line of ['__proto__: {channel: x}', 'constructor: x', 'toString: x']) {
      const { mistakes } = await read(`  - name: a\n    ${line}\n`)
      expect(mistakes.map(({ message }) => message).join(), line).toMatch(/unknown field/)
    }
  })
})
