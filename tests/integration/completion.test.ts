import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, type TestContext } from 'vitest'
import { runCommand } from '../support/commands.js'
import { aFolder } from '../support/folders.js'

const run = promisify(execFile)

/** Skips the test on a machine without the shell. */
async function requireShell(shell: string, context: TestContext): Promise<void> {
  await run(shell, ['--version']).catch(() => context.skip(`${shell} is not installed`))
}

async function aFolderWith(file: string, shell: string): Promise<string> {
  const folder = await aFolder()
  const { code, stdout } = await runCommand(['completion', shell])
  expect(code).toBe(0)
  await writeFile(join(folder, file), stdout)
  return folder
}

it('completes commands and options in fish', async (context) => {
  await requireShell('fish', context)
  const folder = await aFolderWith('vitrina.fish', 'fish')
  const typed = async (line: string) => {
    const script = `source "$HOME/vitrina.fish"; complete -C ${JSON.stringify(line)}`
    const { stdout, stderr } = await run('fish', ['--no-config', '-c', script], {
      env: { HOME: folder, PATH: process.env.PATH },
    })
    expect(stderr, line).toBe('')
    return stdout.split('\n').map((one) => one.split('\t')[0])
  }
  expect(await typed('vitrina ')).toEqual(expect.arrayContaining(['pipelines', 'runs', 'apply']))
  expect(await typed('vitrina pipelines re')).toEqual(['reconcile', 'reset', 'restore', ''])
  expect(await typed('vitrina pipelines run film_dim --')).toEqual(
    expect.arrayContaining(['--follow', '--wait']),
  )
  expect(await typed('vitrina runs log x --fo')).toEqual(['--follow', ''])
})

/** Types into a zsh on its own terminal, and reads until the last expected word has arrived. */
const ZSH = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PROMPT=; COLUMNS=200; LINES=200; fpath=("$FOLDER" $fpath); autoload -Uz compinit; compinit -u -d "$FOLDER/dump"; echo re""ady'
zpty -r shell begun '*ready*'
zpty -wn shell "$TYPED"$'\\t\\t'
zpty -r shell seen "*$LAST*"
print -r -- "$seen"
zpty -d shell
`

it('completes commands and options in zsh', async (context) => {
  await requireShell('zsh', context)
  const folder = await aFolderWith('_vitrina', 'zsh')
  const typed = async (line: string, last: string) => {
    const env = {
      HOME: folder,
      PATH: process.env.PATH,
      FOLDER: folder,
      TYPED: line,
      LAST: last,
      TERM: 'dumb',
    }
    return (await run('zsh', ['-f', '-c', ZSH], { env, timeout: 20_000 })).stdout
  }
  expect(await typed('vitrina pipelines re', 'restore ')).toMatch(
    /reconcile +-- Compare a mart[\s\S]*reset +-- Reset/,
  )
  expect(await typed('vitrina pipelines run film_dim --', '--wait ')).toMatch(/--follow +-- /)
})
