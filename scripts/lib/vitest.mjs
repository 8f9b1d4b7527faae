import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT, runHere, say } from './run.mjs'

/** Runs the tests, reports what was skipped and why, ends with the counts, and returns the exit code. */
export async function runTests(args, options = {}) {
  return closeWith([await runSuite(args, options)])
}

/**
 * Runs the tests and returns `{ passed, failed, skipped, ok }`; what was done before counts as a test each. `within` is
 * a command that starts vitest.
 */
export async function runSuite(args, { before = [], env = process.env, within = [] } = {}) {
  const results = { passed: 0, failed: 0, skipped: [], ok: true }
  for (const isGood of before) results[isGood ? 'passed' : 'failed'] += 1
  const code = await runVitest(args, results, { env, within })
  results.ok = code === 0 && results.failed === 0
  return results
}

/** Prints what was skipped, and the counts of all suites as the last line. Returns the exit code. */
export function closeWith(suites) {
  const skipped = suites.flatMap((suite) => suite.skipped)
  for (const { name, reason } of skipped) say(`skipped: ${name} (${reason.split('\n')[0]})`)
  const sum = (count) => suites.reduce((total, suite) => total + suite[count], 0)
  const [passed, failed] = [sum('passed'), sum('failed')]
  const nothingRan = passed + failed === 0
  if (nothingRan) say('✗ Not a single test ran.')
  process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped.length} skipped\n`)
  return suites.every(({ ok }) => ok) && !nothingRan ? 0 : 1
}

/** Adds to `results` and returns vitest's exit code. */
async function runVitest(args, results, { env, within }) {
  const folder = mkdtempSync(join(tmpdir(), 'vitrina-results-'))
  const file = join(folder, 'results.json')
  try {
    say('• Testing (one PostgreSQL server for all tests, a separate database for each file)')
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
    const reporters = ['--reporter=default', '--reporter=./scripts/lib/reporter.mjs']
    const [program, ...words] = [...within, process.execPath, vitest, 'run', ...reporters, ...args]
    const code = await runHere(program, words, {
      env: { ...env, VITRINA_TEST_RESULTS: file },
    })
    addResults(results, file)
    return code
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Without the file, vitest ended before its tests, which is a separate failure. */
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
