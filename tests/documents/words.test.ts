import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.js'
import { SETTINGS } from '../../src/config/settings.js'
import { ERRORS } from '../../src/model/errors.js'
import { QUARANTINE_STATUSES } from '../../src/model/history.js'
import { PIPELINE_STATUSES } from '../../src/model/status.js'
import { SINKS } from '../../src/sinks/index.js'
import { blocksOf, ROOT } from '../support/document.js'

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const markdownIn = (folder: string) =>
  readdirSync(join(ROOT, folder)).flatMap((name) => (name.endsWith('.md') ? [join(folder, name)] : []))

/** What people read to use it, in any language. The changelog and the decisions speak of their own time. */
const FILES = ['.', 'docs', 'docs/guides', 'deploy/pipelines', 'python/airflow-provider-vitrina']
  .flatMap(markdownIn)
  .filter((file) => file !== 'CHANGELOG.md')

function shellIn(file: string): string[] {
  return blocksOf(file).flatMap(({ language, text }) => (language === 'bash' ? [text] : []))
}

it.each(FILES)('R7.7 %s has commands that a shell understands, with JSON that is JSON', (file) => {
  for (const text of shellIn(file)) {
    execFileSync('bash', ['-n'], { input: text })
    for (const [, json] of text.matchAll(/'(\{[^'…]*\})'/g)) expect(() => JSON.parse(json!)).not.toThrow()
  }
})

/** Every line that could be typed, whether a test carries it out or not: of blocks, and `between backticks`. */
function commandsIn(file: string): string[] {
  const lines = shellIn(file)
    .flatMap((text) => text.replaceAll('\\\n', ' ').split('\n'))
    .flatMap((line) => line.replace(/\s#.*$/, '').split(/&&|[|;()]/))
  return [...lines, ...wordsIn(file)].map((line) => line.trim().replace(/^([A-Z0-9_]+=\S* )+/, ''))
}

function wordsIn(file: string): string[] {
  const prose = read(file).replace(/^```[\s\S]*?^```$/gm, '')
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, word]) => word!)
}

it.each(FILES)('R7.7 %s names commands and options that exist', (file) => {
  const scripts = Object.keys(JSON.parse(read('package.json')).scripts)
  const targets = [...read('Makefile').matchAll(/^([a-z-]+):/gm)].map(([, target]) => target)
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

/** What is written in capitals with an underscore is a setting, or one of these. */
const KNOWN = new Set<string>([
  ...[SETTINGS, ...SINKS.map(({ settings }) => settings)].flatMap((table) => Object.keys(table)),
  ...Object.keys(ERRORS),
  ...PIPELINE_STATUSES,
  ...QUARANTINE_STATUSES,
  ...[...read('deploy/.env.sample').matchAll(/^#?([A-Z_]+)=/gm)].map(([, name]) => name!),
])
/** Settings whose names are made up by their owner, those of others, and those of the tests. */
const FOREIGN = /^(VITRINA_CONNECTION_\w+_URL|(OTEL|AWS|AIRFLOW)_\w+|NO_COLOR|(VITRINA_)?TEST_\w+)$/

it.each(FILES)('R7.7 %s names settings that exist', (file) => {
  const set = shellIn(file).flatMap((text) =>
    [...text.matchAll(/(?:^|[\s'])([A-Z][A-Z0-9]*_[A-Z0-9_]*)=/gm)].map(([, name]) => name!),
  )
  const named = wordsIn(file).flatMap((word) => /^([A-Z][A-Z0-9]*_[A-Z0-9_]*)(=.*)?$/.exec(word)?.[1] ?? [])
  expect([...set, ...named].filter((name) => !KNOWN.has(name) && !FOREIGN.test(name))).toEqual([])
})
