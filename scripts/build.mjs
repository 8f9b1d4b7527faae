import { ensureBuilt } from './lib/build.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { main } from './lib/run.mjs'

await main(async () => {
  await ensureInstalled()
  await ensureBuilt()
  return 0
})
