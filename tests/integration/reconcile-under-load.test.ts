import { setTimeout as hold } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { PipelineSpec } from '../../src/model/pipeline.js'
import { comparing, EQUAL, settled } from '../support/comparison.js'
import type { TestDatabase } from '../support/database.js'
import { requestRun, runEnded } from '../support/runs.js'
import { sampleOf } from '../support/sample.js'
import { onRoutes, ROUTES, type Stand } from '../support/stand.js'
import { waitFor } from '../support/wait.js'

const ROWS = 2_000
/** Rows that writers do not change, to be tampered with. */
const QUIET = 100
const WRITERS = 3
/** Writers and runs continue until this many comparisons were made. */
const LOOKS = 8

async function aBusyTable({ source }: Stand, name: string): Promise<void> {
  await source.query(`
    CREATE TABLE content.${name} (id int PRIMARY KEY, parent int NOT NULL, value int NOT NULL, modified timestamptz NOT NULL DEFAULT now());
    CREATE INDEX ON content.${name} (modified, id);
    CREATE FUNCTION content.touch_${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.modified := now(); RETURN NEW; END $$;
    CREATE TRIGGER touch BEFORE UPDATE ON content.${name} FOR EACH ROW EXECUTE FUNCTION content.touch_${name}();
    INSERT INTO content.${name} SELECT n, n % 50, n FROM generate_series(1, ${ROWS}) n;
    GRANT SELECT ON content.${name} TO vitrina_reader;
    ANALYZE content.${name}`)
  await settled(source)
}

/** Each in its own rows, in transactions that stay open for a while. */
async function write(
  source: TestDatabase,
  name: string,
  { writer, deletes, isOver }: { writer: number; deletes: boolean; isOver: () => boolean },
): Promise<void> {
  const client = await source.client()
  for (let n = 0; !isOver(); n++) {
    const own = QUIET + 1 + ((n * WRITERS + writer) % (ROWS - QUIET))
    await client.query('BEGIN')
    await client.query(`UPDATE content.${name} SET value = value + 1 WHERE id = $1`, [own])
    await client.query(`INSERT INTO content.${name} VALUES ($1, $2, 0)`, [(writer + 1) * 100_000 + n, n % 50])
    if (deletes)
      await client.query(`DELETE FROM content.${name} WHERE id = ANY($1)`, [
        [ROWS - (n * WRITERS + writer) * 3, (writer + 1) * 100_000 + n - 3],
      ])
    await hold((n * 7 + writer) % 20)
    await client.query(n % 9 === 8 ? 'ROLLBACK' : 'COMMIT')
  }
}

const byKey = { mode: 'incremental', incrementalKey: 'modified', incrementalIdKey: 'id' } as const
const byVersion = { mode: 'incremental', capture: 'xmin' } as const
const SUM = 'SELECT parent AS id, count(*) AS n, sum(value) AS value FROM content.loaded_sum GROUP BY parent'

/** `keeps`: a run does not itself repair what was changed in the mart. */
const MODES: readonly { name: string; spec: Partial<PipelineSpec>; deletes: boolean; keeps: boolean }[] = [
  { name: 'loaded_by_key', spec: byKey, deletes: false, keeps: true },
  { name: 'loaded_by_version', spec: byVersion, deletes: false, keeps: true },
  { name: 'loaded_full', spec: { batchSize: 300 }, deletes: false, keeps: false },
  { name: 'loaded_sweep', spec: { ...byKey, deletes: 'sweep' }, deletes: true, keeps: false },
  { name: 'loaded_replace', spec: { fullStrategy: 'replace' }, deletes: true, keeps: false },
  { name: 'loaded_sum', spec: { sourceQuery: SUM }, deletes: true, keeps: false },
]

const BUSY_ROUTES = ROUTES.filter((route) => route.name === 'pushdown' || route.targetConnection !== null)

/** Every mode once, and every route. */
const CASES = sampleOf(
  BUSY_ROUTES.flatMap((route) => MODES.map((mode) => ({ route, mode }))),
  {
    key: ({ route, mode }) => `reconcile under load ${route.name} ${mode.name}`,
    labels: ({ route, mode }) => [route.name, mode.name],
  },
)

onRoutes(
  BUSY_ROUTES.filter((route) => CASES.some((one) => one.route === route)),
  (stand, route) => {
    const { compare, repair } = comparing(stand)
    const modes = CASES.filter((one) => one.route === route).map(({ mode }) => mode)

    for (const { name, spec, deletes, keeps } of modes)
      it(`R5.5 reports no pending rows as drift while runs and writers continue: ${name}`, async () => {
        const { main, source, target } = stand()
        await aBusyTable(stand(), name)
        const { id } = await stand().pipeline({
          sourceQuery: `SELECT id, value, modified FROM content.${name}`,
          targetTable: `analytics.${name}`,
          ...spec,
        })
        let looks = 0
        let runs = 0
        const isOver = () => looks >= LOOKS
        const writing = Promise.all(
          Array.from({ length: WRITERS }, (_, writer) => write(source, name, { writer, deletes, isOver })),
        )
        const running = (async () => {
          do {
            const run = await runEnded(main, await requestRun(main, id))
            expect(run).toMatchObject({ status: 'SUCCESS', error: null })
            runs += 1
          } while (!isOver())
        })()
        const looking = (async () => {
          await waitFor(
            async () =>
              (
                await target.query(
                  `SELECT FROM pg_class WHERE relname = '${name}' AND relnamespace = 'analytics'::regnamespace`,
                )
              ).length > 0,
            { what: 'the first run to create the mart' },
          )
          while (!isOver()) {
            const { matches, missing, extra, different } = await compare(id)
            expect({ looks, matches, missing, extra, different }).toEqual({
              looks,
              matches: true,
              missing: [],
              extra: [],
              different: [],
            })
            looks += 1
            if (keeps && looks === 2) {
              // Until then the tampered rows may still be pending for the first time.
              await waitFor(async () => runs > 0, { what: 'the first run to end' })
              await target.query(`DELETE FROM analytics.${name} WHERE id = 10`)
              await target.query(`UPDATE analytics.${name} SET value = -1 WHERE id = 11`)
              await target.query(`INSERT INTO analytics.${name} VALUES (-1, 0, now())`)
              const drift = { matches: false, missing: ['10'], different: ['11'], extra: ['-1'] }
              expect(await compare(id)).toMatchObject(drift)
              const { rows, run_id } = await repair(id)
              expect(rows).toBe(3)
              expect((await runEnded(main, run_id)).status).toBe('SUCCESS')
            }
          }
        })().finally(() => {
          looks = LOOKS
        })
        await Promise.all([looking, writing, running])
        await stand().run(id)
        expect(await compare(id)).toEqual(EQUAL)
      })
  },
)
