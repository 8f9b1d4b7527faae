import { expect, it } from 'vitest'
import { onEveryRoute, rowTexts } from '../support/stand.js'

const LARGE = 70 * 1024 * 1024

interface Held {
  readonly id: number
  readonly row_key: string
  readonly row_text: (string | null)[]
  readonly reason: string
  readonly sqlstate: string
}

onEveryRoute((stand) => {
  const held = (pipelineId: string) =>
    stand().main.query<Held & Record<string, unknown>>(
      "SELECT * FROM etl.etl_quarantine WHERE pipeline_id = $1 AND status = 'HELD' ORDER BY id",
      [pipelineId],
    )

  const replay = (id: number) =>
    stand().main.query("UPDATE etl.etl_quarantine SET status = 'REPLAY_REQUESTED' WHERE id = $1", [id])

  it('quarantines a row that is larger than a message may be, writes the others, and replays it by its key', async () => {
    await stand().source.query(`
      CREATE TABLE content.heavy (id int PRIMARY KEY, amount int, note text, body text, raw bytea);
      ALTER TABLE content.heavy ALTER body SET STORAGE EXTERNAL, ALTER raw SET STORAGE EXTERNAL;
      INSERT INTO content.heavy SELECT n, n, 'note ' || n, 'ж', '\\x01' FROM generate_series(1, 50) n;
      UPDATE content.heavy SET amount = -1, body = repeat('й', ${LARGE / 2}), raw = decode(repeat('ab', 5000000), 'hex') WHERE id = 25;
      ANALYZE content.heavy`)
    await stand().target.query(
      'CREATE TABLE analytics.heavy (id int PRIMARY KEY, amount int CHECK (amount >= 0), note text, body text, raw bytea)',
    )
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT id, amount, note, body, raw FROM content.heavy',
      targetTable: 'analytics.heavy',
      batchSize: 20,
    })
    const run = await stand().run(id)
    expect(run).toMatchObject({
      ...{ status: 'SUCCESS', error: null, attempt: 1 },
      ...{ rows_read: 50, rows_inserted: 49, rows_quarantined: 1 },
    })
    const [row, ...others] = await held(id)
    expect(others).toEqual([])
    expect(row).toMatchObject({ row_key: '25', sqlstate: '23514' })
    expect(row!.reason).toMatch(/violates check constraint/)
    const [key, amount, note, body, raw] = row!.row_text
    expect([key, amount, note]).toEqual(['25', '-1', 'note 25'])
    expect(body).toMatch(/^й{50000,60000}… \(truncated: 36700160 characters, SHA-256 [0-9a-f]{64}\)$/)
    expect(raw).toMatch(/^\\x(ab){25000,30000}… \(truncated: 10000002 characters, SHA-256 [0-9a-f]{64}\)$/)

    await stand().target.query('ALTER TABLE analytics.heavy DROP CONSTRAINT heavy_amount_check')
    await replay(row!.id)
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null })
    expect(await held(id)).toEqual([])
    const digests = (table: string) => `SELECT id, amount, note, md5(body), md5(raw) FROM ${table}`
    expect(await rowTexts(stand().target, digests('analytics.heavy'))).toEqual(
      await rowTexts(stand().source, digests('content.heavy')),
    )
  }, 180_000)

  it('quarantines rows whose key is longer than an index entry allows', async () => {
    await stand().source.query(`
      CREATE TABLE content.wordy (key text, note text);
      INSERT INTO content.wordy SELECT 'key ' || n, 'note' FROM generate_series(1, 20) n;
      INSERT INTO content.wordy SELECT string_agg(md5(n::text), ''), 'long' FROM generate_series(1, 300) n;
      INSERT INTO content.wordy SELECT string_agg(md5(n::text), ''), 'longer' FROM generate_series(1, 1000) n;
      ANALYZE content.wordy`)
    await stand().target.query('CREATE TABLE analytics.wordy (key text PRIMARY KEY, note text)')
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT key, note FROM content.wordy',
      targetTable: 'analytics.wordy',
      keyColumns: ['key'],
    })
    expect(await stand().run(id)).toMatchObject({
      ...{ status: 'SUCCESS', error: null },
      ...{ rows_inserted: 20, rows_quarantined: 2 },
    })
    const rows = await held(id)
    const named = (note: string) => rows.find(({ row_text }) => row_text[1] === note)!
    expect(rows.map(({ row_key }) => row_key)).toEqual([
      expect.stringMatching(/^[0-9a-f]{400}… [0-9a-f]{64}$/),
      expect.stringMatching(/^[0-9a-f]{400}… [0-9a-f]{64}$/),
    ])
    expect(named('long').row_text[0]).toHaveLength(9_600)
    expect(named('longer').row_text[0]).toMatch(/^[0-9a-f]{16384}… \(truncated: 32000 characters, /)

    // The source is searched for a key that is stored whole. One that is not stays held, and says why.
    for (const row of rows) await replay(row.id)
    await stand().source.query("DELETE FROM content.wordy WHERE note LIKE 'long%'")
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null })
    expect(await held(id)).toMatchObject([
      {
        row_key: named('longer').row_key,
        reason: expect.stringMatching(/key is too long to be stored in full/),
      },
    ])
  })
})
