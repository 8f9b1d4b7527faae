import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { ALL_CASES, inTurn } from '../support/sample.js'
import { LAYOUTS, Stress } from './stress.js'

/** Another seed every day; VITRINA_TEST_SEED repeats one. */
const SEED = createHash('sha256').update(`stress ${process.env.VITRINA_TEST_SEED}`).digest().readInt32BE()
/** In `npm run test:long` 100,000 transactions, half of them for each layout. */
const TRANSACTIONS = Number(process.env.VITRINA_TEST_STRESS_TRANSACTIONS ?? (ALL_CASES ? 100_000 : 500))
const LAYOUTS_RUN = inTurn(LAYOUTS, 0)
/** The writers stop and everything is compared after so many transactions of a layout. */
const PHASES = Math.max(1, Math.round(TRANSACTIONS / LAYOUTS_RUN.length / 5_000))
const SHAPES = ALL_CASES ? 20 : 7
const RUNNERS = ALL_CASES ? 3 : 2

describe('marts that follow their source while runners are killed, frozen and cut off', () => {
  it.each(LAYOUTS_RUN)(
    `are equal to their queries: %s (seed ${SEED})`,
    { timeout: 14_400_000 },
    async (layout) => {
      const stress = await Stress.create({
        ...{ seed: SEED, layout, shapes: SHAPES, runners: RUNNERS },
        mostLostSlots: ALL_CASES ? 30 : 1,
      })
      await stress.fill()
      const transactions = TRANSACTIONS / LAYOUTS_RUN.length / PHASES
      for (let phase = 0; phase < PHASES; phase++) {
        await stress.phase({ transactions, strikes: ALL_CASES ? 20 : 4 })
        console.log(JSON.stringify(await stress.figures()))
      }
      const figures = await stress.figures()
      if (process.env.TEST_LOG_LEVEL) console.log(stress.output)
      expect(figures.differences).toEqual([])
      expect(figures.probedWrong).toBe(0)
      expect(figures.ways.scopes).toBeGreaterThan(0)
      expect(figures.kills).toBeGreaterThan(0)
    },
  )
})
