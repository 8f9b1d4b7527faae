import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aCliStand } from '../support/cli.js'

const stand = aCliStand()

describe('vitrina lineage', () => {
  it('shows what every pipeline reads and fills, and what cannot be read', async () => {
    await aPipeline(stand().database, { name: 'broken', sourceQuery: 'SELECT FROM WHERE' })
    const { code, stdout } = await stand().vitrina('lineage')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^pipeline +reads +fills +problem\n/)
    expect(stdout).toMatch(/^film_rating_agg_full +ugc\.ratings +analytics\.film_rating_agg +–$/m)
    expect(stdout).toMatch(/^broken .*SOURCE_QUERY_FAILED: line 1/m)
  })

  it('shows of one pipeline where each column comes from, for people and for programs', async () => {
    const table = await stand().vitrina('lineage', 'film_rating_agg_full')
    expect(table.stdout).toMatch(
      /^avg_rating +aggregate +ugc\.ratings\.rating +avg\(ugc\.ratings\.rating\)$/m,
    )
    const { columns } = JSON.parse(
      (await stand().vitrina('lineage', 'film_rating_agg_full', '--output', 'json')).stdout,
    )
    expect(columns[0]).toMatchObject({ name: 'film_id', kind: 'direct' })
  })

  it('exports events of OpenLineage', async () => {
    const { stdout } = await stand().vitrina('lineage', 'genre_dim_full', '--openlineage')
    expect(JSON.parse(stdout)).toMatchObject([{ job: { name: 'genre_dim_full' }, outputs: [{}] }])
    expect((await stand().vitrina('lineage', 'genre_dim_ful')).stderr).toContain(
      'Did you mean "genre_dim_full"?',
    )
  })
})
