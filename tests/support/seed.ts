import { ALL_CASES } from './sample.js'

/** Run by vitest once, before all files. */
export function setup(): void {
  if (ALL_CASES) return
  const seed = process.env.VITRINA_TEST_SEED
  process.stderr.write(
    `Long matrices are sampled with the seed ${seed}: VITRINA_TEST_SEED=${seed} repeats it, "npm run test:long" runs every case.\n`,
  )
}
