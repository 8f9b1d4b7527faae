import { main } from './lib/run.mjs'
import { installTestTools } from './lib/test-tools.mjs'

/** What `npm test` does before it tests, for those who start vitest themselves. */
await main(async () => (Object.keys(await installTestTools()).length === 0 ? 0 : 1))
