import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ALL_CASES } from '../support/sample.js'
import { FAULTS } from './faults.js'
import { type Patch, PROBED, ROWS_ROUTE, SCOPES_ONLY } from './patches.js'
import { Stress } from './stress.js'

const SEED = createHash('sha256').update(`faults ${process.env.VITRINA_TEST_SEED}`).digest().readInt32BE()
/** Most are found in the first; a commit that begins exactly at a position is rare. */
const MOST_PHASES = 20

/** The same without a fault: what is found below is found because of the fault. */
const CONTROL_PHASES = 5

/** Shows that the stress test would notice. Each takes minutes, so `npm test` leaves them out. */
describe('the stress test', () => {
  // Each would be reported as skipped otherwise.
  if (!ALL_CASES) return it('fits the program that it patches', () => expect(misfits()).toEqual([]))

  it(`finds nothing without a fault (seed ${SEED})`, { timeout: 3_600_000 }, async () => {
    expect(await isFound('none', { patches: [], mostPhases: CONTROL_PHASES })).toBe(false)
  })

  for (const { name, patches } of FAULTS)
    it(`finds a fault: ${name} (seed ${SEED})`, { timeout: 3_600_000 }, async () => {
      expect(await isFound(name, { patches, mostPhases: MOST_PHASES })).toBe(true)
    })
})

interface Hunt {
  readonly patches: readonly Patch[]
  readonly mostPhases: number
}

/** Until a mart is wrong, after a phase or in the snapshot of a run. */
async function isFound(fault: string, { patches, mostPhases }: Hunt): Promise<boolean> {
  const stress = await Stress.create({
    ...{ seed: SEED, layout: 'source apart', shapes: 14, runners: 2, patches },
    mostLostSlots: 0,
  })
  await stress.fill()
  for (let phase = 0; phase < mostPhases; phase++) {
    await stress.phase({ transactions: 1_000, strikes: 3 })
    const { differences, ...counts } = await stress.figures()
    if (fault === 'none' && differences.length > 0) console.log(JSON.stringify(differences))
    const isFound = differences.length > 0 || counts.probedWrong > 0
    if (isFound || phase === mostPhases - 1)
      console.log(JSON.stringify({ fault, wrongMarts: differences.length, ...counts }))
    if (isFound) return true
  }
  return false
}

/** Patches whose place in the built program is not found exactly once. */
function misfits(): string[] {
  const faults = FAULTS.flatMap(({ patches }) => patches)
  return [ROWS_ROUTE, SCOPES_ONLY, ...PROBED, ...faults].flatMap(({ file, from }) => {
    const found = readFileSync(new URL(`../../dist/${file}`, import.meta.url), 'utf8').split(from).length - 1
    return found === 1 ? [] : [`${file}: ${from}`]
  })
}
