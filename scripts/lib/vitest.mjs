import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT, runHere, say } from './run.mjs'

/** Runs the tests, tells what was skipped and why, closes with the counts, and answers the exit code. */
export async function runTests(args, { before = [], env = process.env } = {}) {
  const results = { passed: 0, failed: 0, skipped: [] }
  for (const isGood of before) results[isGood ? 'passed' : 'failed'] += 1
  const code = await runVitest(args, results, env)
  for (const { name, reason } of results.skipped) say(`skipped: ${name} (${reason})`)
  const nothingRan = results.passed + results.failed === 0
  if (nothingRan) say('✗ Not a single test ran.')
  process.stdout.write(
    `\n${results.passed} passed, ${results.failed} failed, ${results.skipped.length} skipped\n`,
  )
  return code !== 0 || results.failed > 0 || nothingRan ? 1 : 0
}

/** Adds to `results` and answers vitest's exit code. */
async function runVitest(args, results, env) {
  const folder = mkdtempSync(join(tmpdir(), 'vitrina-results-'))
  const file = join(folder, 'results.json')
  try {
    say('• Testing (one PostgreSQL is started for all tests; a database of its own for each)')
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
    const reporters = ['--reporter=default', '--reporter=./scripts/lib/reporter.mjs']
    const code = await runHere(process.execPath, [vitest, 'run', ...reporters, ...args], {
      env: { ...env, VITRINA_TEST_RESULTS: file },
    })
    addResults(results, file)
    return code
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Without the file vitest never got as far as its tests, and that is a failure of its own. */
function addResults(results, file) {
  try {
    const tests = JSON.parse(readFileSync(file, 'utf8'))
    results.passed += tests.passed
    results.failed += tests.failed
    results.skipped.push(...tests.skipped)
  } catch {
    say('✗ vitest ended before it ran the tests.')
    results.failed += 1
  }
}
