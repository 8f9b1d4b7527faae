import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureBuilt } from './lib/build.mjs'
import { endAll } from './lib/end-all.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { endWithNpm } from './lib/parent.mjs'
import { main } from './lib/run.mjs'
import { ensureSpark } from './lib/tools/spark.mjs'
import { runTests } from './lib/vitest.mjs'

/**
 * Runs pipelines on a real Spark: a master and two workers on loopback, which the tests start, kill and freeze.
 *   npm run test:spark                                   2 million rows
 *   VITRINA_TEST_SPARK_ROWS=200000 npm run test:spark    fewer, while developing
 */
endWithNpm()
await main(async () => {
  await ensureInstalled()
  await ensureBuilt()
  const spark = await ensureSpark()
  const home = mkdtempSync(join(tmpdir(), 'vitrina-spark-'))
  chmodSync(home, 0o755)
  const env = {
    ...process.env,
    VITRINA_TEST_SPARK: spark.home,
    VITRINA_TEST_SPARK_PYTHON: spark.python,
    VITRINA_TEST_SPARK_JAVA: spark.javaHome,
    VITRINA_TEST_SPARK_HOME: home,
  }
  try {
    const given = process.argv.slice(2)
    const files = given.some((arg) => arg.startsWith('tests/')) ? [] : ['tests/spark']
    // One cluster at a time.
    return await runTests([...files, '--no-file-parallelism', ...given], { env })
  } finally {
    endAll(`VITRINA_TEST_SPARK_HOME=${home}`)
    rmSync(home, { recursive: true, force: true })
  }
})
