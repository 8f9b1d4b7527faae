// biome-ignore-all lint/suspicious/noControlCharactersInRegex: control characters are what this file is about.
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { yamlText } from '../../config/pipeline-yaml.js'
import { machineText, styled, terminalLine, visibleText } from './terminal-text.js'

const HOSTILE = [
  '\x1b]0;title\x07',
  '\x1b[2J\x1b[H',
  '\x1b[8mhidden\x1b[0m',
  'good\rbad',
  '\x9b2J',
  'a\x7f\bb',
  '\x1bPq\x1b\\',
  'abc\u202egpj.exe',
  '\u2066x\u2069',
]

describe('text from outside', () => {
  it.each(HOSTILE)('%j cannot control a terminal', (text) => {
    for (const shown of [visibleText(text), terminalLine(text)])
      expect(shown).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/)
  })

  it('is printed unchanged if it contains no control characters', () => {
    expect(visibleText('Ленинград\t№ 5\n東京 👩‍🚀')).toBe('Ленинград\t№ 5\n東京 👩‍🚀')
    expect(visibleText('\x1b[31m')).toBe('\\x1b[31m')
  })
})

describe('a line of the program', () => {
  it('keeps its styles around text that loses its own escapes', () => {
    expect(terminalLine(`${styled('✓', 32, 39)} name\x1b[2J ${styled('end', 1, 22)}`)).toBe(
      '\x1b[32m✓\x1b[39m name\\x1b[2J \x1b[1mend\x1b[22m',
    )
  })

  it('takes no style from text, not even one that it uses itself', () => {
    expect(terminalLine('\x1b[32m✓\x1b[39m \x1b[2mdim')).toBe('\\x1b[32m✓\\x1b[39m \\x1b[2mdim')
  })

  it('marks what follows a line feed', () => {
    expect(terminalLine('failed: a\n✓ all is well')).toBe('failed: a\n  │ ✓ all is well')
  })
})

describe('JSON and YAML for programs', () => {
  it.each(HOSTILE)('%j means the same after it is escaped', (text) => {
    const json = machineText(JSON.stringify({ text }))
    expect(JSON.parse(json)).toEqual({ text })
    expect(json).not.toMatch(/[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/)
    const yaml = machineText(yamlText({ [text]: [text, `${text}\nand more`] }))
    expect(parse(yaml)).toEqual({ [text]: [text, `${text}\nand more`] })
    expect(yaml).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/)
  })
})
