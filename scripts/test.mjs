import { ensureBuilt } from './lib/build.mjs'
import { check } from './lib/check.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { endWithNpm } from './lib/parent.mjs'
import { main } from './lib/run.mjs'
import { installTestTools } from './lib/test-tools.mjs'
import { runTests } from './lib/vitest.mjs'

endWithNpm()
await main(async () => {
  const args = process.argv.slice(2)
  // Mostly waits for the network, so that the compiler has the cores meanwhile.
  const tools = installTestTools()
  await ensureInstalled()
  await ensureBuilt()
  const before = args.includes('--no-check') ? [] : [await check()]
  return runTests(
    args.filter((arg) => arg !== '--no-check'),
    { before, env: { ...process.env, ...(await tools) } },
  )
})
