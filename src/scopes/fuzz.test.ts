import { createHash } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { aDatabase } from '../../tests/support/database.js'
import { ALL_CASES } from '../../tests/support/sample.js'
import { Session } from '../postgres/session.js'
import { Fuzz, type FuzzOptions, type FuzzResult, type PlantedFault } from './corpus/fuzz.js'
import { LAB } from './corpus/lab.js'

/** Another seed every day; VITRINA_TEST_SEED repeats one. */
const SEED = createHash('sha256').update(String(process.env.VITRINA_TEST_SEED)).digest().readInt32BE()
const CHANGE_SETS = Number(process.env.VITRINA_TEST_FUZZ_CHANGE_SETS ?? (ALL_CASES ? 5_000 : 60))

const FAULTS: readonly PlantedFault[] = ['no guards', 'nothing opaque', 'no old images']

async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const database = await aDatabase({ migrated: false })
  await database.query(LAB)
  const session = await Session.open(database.url, 'vitrina-fuzz', new AbortController().signal)
  onTestFinished(() => session.close())
  return new Fuzz(session, options).run()
}

describe('random queries and random changes', () => {
  it(`names every scope that changed (seed ${SEED})`, { timeout: 3_600_000 }, async () => {
    const result = await fuzz({ seed: SEED, changeSets: CHANGE_SETS })
    const { missed, wrongRecomputes, ...counts } = result
    console.log(JSON.stringify({ seed: SEED, ...counts }))
    expect(missed).toEqual([])
    expect(wrongRecomputes).toEqual([])
    expect(counts.changedScopes).toBeGreaterThan(0)
  })

  // Shows that the fuzzer would notice. Each takes a few hundred change sets, so `npm test` leaves them out.
  for (const fault of ALL_CASES ? FAULTS : [])
    it(`notices the fault "${fault}"`, { timeout: 3_600_000 }, async () => {
      const { missed, ...counts } = await fuzz({ seed: SEED, changeSets: 5_000, fault })
      console.log(JSON.stringify({ seed: SEED, fault, missed: missed.length, ...counts }))
      expect(missed).not.toEqual([])
    })
})
