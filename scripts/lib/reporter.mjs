import { writeFileSync } from 'node:fs'

/** Writes the counts for test.mjs. Vitest's own JSON report leaves out why a test was skipped. */
// biome-ignore lint/style/noDefaultExport: vitest takes a reporter from a file by its default export.
export default class ResultsReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const results = { passed: 0, failed: unhandledErrors.length, skipped: [] }
    for (const module of modules) countModule(module, results)
    writeFileSync(process.env.VITRINA_TEST_RESULTS, JSON.stringify(results))
  }
}

function countModule(module, results) {
  let failed = 0
  for (const test of module.children.allTests()) {
    const { state, note } = test.result()
    if (state === 'passed') results.passed += 1
    else if (state === 'failed') failed += 1
    else
      results.skipped.push({
        name: `${module.relativeModuleId} > ${test.fullName}`,
        reason: note ?? 'no reason given',
      })
  }
  // A file that does not load, or whose last hook fails, has no failed test.
  results.failed += failed === 0 && module.state() === 'failed' ? 1 : failed
}
