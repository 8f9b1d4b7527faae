import { Argument, type Command } from 'commander'
import { command } from './program/command.js'
import { bashCompletion, fishCompletion, type Words, zshCompletion } from './program/completion-scripts.js'

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }

export function addCompletion(program: Command): void {
  command(program, {
    usage: 'completion',
    description: 'Print a completion script for your shell.',
    examples: [
      'completion bash > ~/.local/share/bash-completion/completions/vitrina',
      'completion zsh > ~/.zsh/functions/_vitrina',
      'completion fish > ~/.config/fish/completions/vitrina.fish',
    ],
  })
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(Object.keys(SHELLS)))
    .action((shell: keyof typeof SHELLS) => void process.stdout.write(SHELLS[shell](wordsOf(program))))
}

/** Every command with the words that can follow it, read from the program itself so that it is never out of date. */
function wordsOf(made: Command, path = ''): Words[] {
  const help = made.createHelp()
  const subcommands = help.visibleCommands(made)
  const options = help
    .visibleOptions(made)
    .flatMap(({ long, description }) => (long ? [{ word: long, means: description }] : []))
  const own = {
    path,
    next: [...subcommands.map((one) => ({ word: one.name(), means: one.description() })), ...options],
  }
  return [
    own,
    ...subcommands
      .filter((one) => one.name() !== 'help')
      .flatMap((one) => wordsOf(one, `${path} ${one.name()}`.trim())),
  ]
}
