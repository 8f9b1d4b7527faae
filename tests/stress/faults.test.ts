import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { ALL_CASES } from '../support/sample.js'
import { FAULTS } from './faults.js'
import { Stress } from './stress.js'

const SEED = createHash('sha256').update(`faults ${process.env.VITRINA_TEST_SEED}`).digest().readInt32BE()
/** Most are found in the first; a commit that begins exactly at a position is rare. */
const MOST_PHASES = 20

/** Shows that the stress test would notice. Each takes minutes, so `npm test` leaves them out. */
describe.runIf(ALL_CASES)('the stress test finds a fault:', () => {
  for (const { name, patches } of FAULTS)
    it(`${name} (seed ${SEED})`, { timeout: 3_600_000 }, async () => {
      const stress = await Stress.create({
        ...{ seed: SEED, layout: 'source apart', shapes: 14, runners: 2, patches },
        mostLostSlots: 0,
      })
      await stress.fill()
      let isFound = false
      for (let phase = 0; phase < MOST_PHASES && !isFound; phase++) {
        const found = await stress.phase({ transactions: 1_000, strikes: 3 })
        isFound = found.length > 0 || (await stress.figures()).probedWrong > 0
      }
      const { differences, ...counts } = await stress.figures()
      console.log(JSON.stringify({ fault: name, wrongMarts: differences.length, ...counts }))
      expect(isFound).toBe(true)
    })
})
