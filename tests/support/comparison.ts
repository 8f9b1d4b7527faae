import { afterAll, beforeAll } from 'vitest'
import { anApi, type TestApi } from './api.js'
import type { TestDatabase } from './database.js'
import type { Stand } from './stand.js'
import { waitFor } from './wait.js'

/** The result of a deep reconcile, the keys as sorted texts. */
export interface ComparedKeys {
  readonly matches: boolean
  readonly missing: readonly string[]
  readonly extra: readonly string[]
  readonly different: readonly string[]
  readonly onTheirWay: number
  readonly undecided: number
}

export const EQUAL: ComparedKeys = {
  matches: true,
  missing: [],
  extra: [],
  different: [],
  onTheirWay: 0,
  undecided: 0,
}

/** The API over a stand, to compare and repair as a user does. */
export interface ComparedStand {
  api(): TestApi
  compare(pipelineId: string): Promise<ComparedKeys>
  /** The id of the repair run, and the number of its rows. */
  repair(pipelineId: string): Promise<{ run_id: string; rows: number }>
}

interface ReportedRows {
  readonly count: number
  readonly keys: readonly Record<string, string>[]
}

/** For the tests of one route; closed after them. */
export function comparing(stand: () => Stand): ComparedStand {
  let api: TestApi
  beforeAll(() => {
    const { main, source, target } = stand()
    const urls = new Map([
      ['src', source.url],
      ['dwh', target.url],
    ])
    api = anApi(main.loginUrl('meta'), {
      readerUrl: main.loginUrl('reader'),
      connections: [...urls.keys()],
      urls,
    })
  })
  afterAll(() => api.close())
  return {
    api: () => api,
    compare: async (id) => {
      const answer = await api.get(`/pipelines/${id}/reconcile?deep=true`)
      if (answer.statusCode !== 200) throw new Error(answer.body)
      const { matches, missing, extra, different, on_their_way, undecided } = answer.json()
      return {
        matches,
        missing: keysOf(missing),
        extra: keysOf(extra),
        different: keysOf(different),
        onTheirWay: on_their_way,
        undecided,
      }
    },
    repair: async (id) => {
      const answer = await api.post(`/pipelines/${id}/reconcile/repair`)
      if (answer.statusCode !== 202) throw new Error(answer.body)
      return answer.json()
    },
  }
}

/**
 * Until all transactions that were open before now have ended: rows younger than the oldest open transaction count as
 * unread, and other tests of this server have some.
 */
export async function settled(database: TestDatabase): Promise<void> {
  const [now] = await database.query<{ number: string }>('SELECT pg_current_xact_id()::text AS number')
  const older = 'SELECT pg_snapshot_xmin(pg_current_snapshot()) > $1::xid8 AS gone'
  await waitFor(async () => (await database.query<{ gone: boolean }>(older, [now!.number]))[0]!.gone, {
    what: 'older transactions to end',
  })
}

function keysOf({ count, keys }: ReportedRows): string[] {
  const texts = keys.map((key) => Object.values(key).join('/')).sort((a, b) => Number(a) - Number(b))
  // The response contains at most a hundred of them.
  return count > texts.length ? [...texts, `and ${count - texts.length} more`] : texts
}
