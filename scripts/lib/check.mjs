import { join } from 'node:path'
import { ROOT, runQuietly, say, seconds } from './run.mjs'

const STEPS = [
  { what: 'types of the console', args: ['node_modules/typescript/bin/tsc', '-p', 'console/tsconfig.json'] },
  { what: 'types', args: ['node_modules/typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.json'] },
  {
    what: 'format and lint',
    args: [
      'node_modules/@biomejs/biome/bin/biome',
      'ci',
      '--colors=off',
      '--reporter=summary',
      '--error-on-warnings',
      '.',
    ],
  },
  {
    what: 'rooms',
    args: [
      'node_modules/dependency-cruiser/bin/dependency-cruise.mjs',
      '--config',
      '.dependency-cruiser.cjs',
      'src',
      'console/src',
    ],
  },
  { what: 'unused code', args: ['node_modules/knip/bin/knip.js', '--no-progress'] },
  { what: 'generated files', args: ['scripts/gen.mjs', '--check'] },
  { what: 'wording', args: ['scripts/check-words.mjs'] },
]

/** True if all steps pass. Every step runs, so that all problems are reported at once. */
export async function check() {
  say('• Checking')
  const results = await Promise.all(STEPS.map(runStep))
  return results.every((ok) => ok)
}

async function runStep({ what, args: [script, ...args] }) {
  const since = performance.now()
  const { code, output } = await runQuietly(process.execPath, [join(ROOT, script), ...args])
  say(code === 0 ? `  ✓ ${what} (${seconds(since)})` : `  ✗ ${what} (${seconds(since)})\n${output.trimEnd()}`)
  return code === 0
}
