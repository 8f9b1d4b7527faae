import type { Command } from 'commander'
import { withMainDatabase } from '../main/database.js'
import { readEnvironment } from '../main/environment.js'
import { untilStopped } from '../main/shutdown.js'
import { type Format, formatOption, isData, jsonOption, printData } from './output/format.js'
import { detail, print, step } from './output/print.js'
import { command, wholeNumber } from './program/command.js'

interface Options {
  readonly films: number
  readonly ratings: number
  readonly seed: number
  readonly replace?: boolean
  readonly output?: Format
}

const PROGRESS_MS = 1_000

export function addGenerate(program: Command): void {
  command(program, {
    usage: 'generate',
    description: 'Add films, people and ratings in any number to the sample data.',
    examples: [
      'generate --films 100000 --ratings 1000000 --seed 7',
      'generate --replace --films 1000 --json',
    ],
  })
    .option('--films <n>', 'number of films', wholeNumber, 1_000)
    .option('--ratings <n>', 'number of ratings', wholeNumber, 100_000)
    .option('--seed <n>', 'the same seed and sizes produce the same rows', wholeNumber, 1)
    .option('--replace', 'delete the existing sample data first')
    .addOption(formatOption())
    .addOption(jsonOption())
    .action((options: Options) => untilStopped((signal) => fill(options, signal)))
}

async function fill({ films, ratings, seed, replace, output }: Options, signal: AbortSignal): Promise<void> {
  await withMainDatabase(
    readEnvironment(),
    { signal, onProgress: step, embedded: 'join' },
    async (settings) => {
      step(`Generating ${films} films and ${ratings} ratings from seed ${seed}`)
      // Not at the top: every other command would wait for modules that it does not use.
      const { generateInto } = await import('../main/generate.js')
      const since = performance.now()
      const counts = await generateInto(settings, { films, ratings, seed, replace, signal }, everySecond())
      detail(`Done in ${((performance.now() - since) / 1000).toFixed(1)} s.`)
      if (isData({ output })) return printData(counts, { output })
      for (const [table, count] of Object.entries(counts))
        print(`${table.padEnd(26)}${String(count).padStart(12)}`)
    },
  )
}

/** An occasional line is enough to show progress. */
function everySecond(): (progress: { table: string; done: number; of: number }) => void {
  let last = performance.now()
  return ({ table, done, of }) => {
    if (performance.now() - last < PROGRESS_MS) return
    last = performance.now()
    detail(`${table}: ${done} of ${of}`)
  }
}
