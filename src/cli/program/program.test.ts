import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from './program.js'

/** Every command with an action, by its full name. */
function leaves(command: Command, path: string[] = []): [string, Command][] {
  if (command.commands.length === 0) return [[path.join(' '), command]]
  return command.commands.flatMap((one) => leaves(one, [...path, one.name()]))
}

const COMMANDS = leaves(createProgram())

function helpOf(command: Command): string {
  let text = ''
  command
    .configureOutput({
      writeOut: (part) => {
        text += part
      },
    })
    .outputHelp()
  return text
}

describe('the commands', () => {
  it.each(COMMANDS)('%s has examples in its help', (path, command) => {
    expect(helpOf(command)).toContain(`$ vitrina ${path}`)
  })

  it('include every verb of the contract', () => {
    const verbs =
      'list get create update delete run pause enable disable validate preview status runs reconcile'
    const names = COMMANDS.map(([path]) => path)
    expect(names).toEqual(expect.arrayContaining(verbs.split(' ').map((verb) => `pipelines ${verb}`)))
    expect(names).toEqual(
      expect.arrayContaining([
        'up',
        'api',
        'runner',
        'migrate',
        'doctor',
        'apply',
        'diff',
        'export',
        'generate',
      ]),
    )
  })

  it.each(
    COMMANDS.filter(([path]) =>
      /list|get|status|runs$|versions|audit|diff|state|preview|validate|reconcile/.test(path),
    ),
  )('%s can print JSON and other formats', (_, command) => {
    expect(command.options.map(({ long }) => long)).toEqual(expect.arrayContaining(['--json', '--output']))
  })
})
