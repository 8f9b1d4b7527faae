import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program/program.js'
import { blocksOf, ROOT } from '../support/document-blocks.js'
import { codeIn, presentDocuments, proseText } from '../support/prose.js'

function shellIn(file: string): string[] {
  return blocksOf(file).flatMap(({ language, text }) => (language === 'bash' ? [text] : []))
}

it.each(presentDocuments())(
  'R7.7 %s has commands that a shell understands, with JSON that is JSON',
  (file) => {
    for (const text of shellIn(file)) {
      execFileSync('bash', ['-n'], { input: text })
      for (const [, json] of text.matchAll(/'(\{[^'…]*\})'/g)) expect(() => JSON.parse(json!)).not.toThrow()
    }
  },
)

/** Every line that could be typed, whether a test carries it out or not: of blocks, and `between backticks`. */
function commandsIn(file: string): string[] {
  const lines = shellIn(file)
    .flatMap((text) => text.replaceAll('\\\n', ' ').split('\n'))
    .map((line) => line.replace(/'[^']*'|"[^"]*"/g, 'words'))
    .flatMap((line) => line.replace(/\s#.*$/, '').split(/&&|[|;()]/))
  return [...lines, ...codeIn(file)].map((line) => line.trim().replace(/^([A-Z0-9_]+=\S* )+/, ''))
}

it.each(presentDocuments())('R7.7 %s names commands and options that exist', (file) => {
  const scripts = Object.keys(JSON.parse(proseText('package.json')).scripts)
  const targets = [...proseText('Makefile').matchAll(/^([a-z-]+):/gm)].map(([, target]) => target)
  const unknown = commandsIn(file).filter((command) => {
    const [program, first = '', second = ''] = command.replace(/^npx /, '').split(/\s+/)
    if (program === 'vitrina') return !isTaken(command.replace(/^npx /, ''))
    if (program === 'make') return !targets.includes(first)
    if (program === 'npm' && first === 'run') return !scripts.includes(second)
    return program === 'node' && /^\w+\//.test(first) && !existsSync(join(ROOT, first))
  })
  expect(unknown).toEqual([])
})

/** Whether the program has this command with these options, and takes so many words. */
function isTaken(line: string): boolean {
  const words = line.match(/'[^']*'|"[^"]*"|\S+/g)!.slice(1)
  let command = createProgram()
  for (let next = child(command, words[0]); next !== undefined; next = child(command, words[0])) {
    command = next
    words.shift()
  }
  const options = command.createHelp().visibleOptions(command)
  const given: string[] = []
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const option = options.find(({ long, short }) => [long, short].includes(word!.split('=')[0]))
    if (option === undefined) given.push(word)
    else if (option.required && !word.includes('=')) words.shift()
  }
  const { registeredArguments: wanted } = command
  if (given.some((word) => word.startsWith('-'))) return false
  return given.length <= wanted.length || wanted.at(-1)?.variadic === true
}

function child(command: Command, name: string | undefined): Command | undefined {
  return command.commands.find((one) => one.name() === name)
}
