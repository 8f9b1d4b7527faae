/** Complete responses for the reference, recorded from the demo. */
const PIPELINE_ID = '22222222-2222-2222-2222-222222222222'
const PIPELINE = `pipeline:${PIPELINE_ID}`
const AVERAGE = {
  name: 'avg_rating',
  type: null,
  kind: 'aggregate',
  sources: [{ node: 'ugc.ratings', column: 'rating' }],
  expression: 'round(avg(ugc.ratings.rating), 2)',
  through: [],
  reason: null,
}
const SHAPING = [{ node: 'ugc.ratings', column: 'film_id', uses: ['group'] }]
const NODE = { pipeline_id: null, error: null, hidden_up: 0, hidden_down: 0, open: null, shaping: [] }

export const LINEAGE_EXAMPLE = {
  focus: PIPELINE,
  level: 'column',
  nodes: [
    {
      ...NODE,
      id: PIPELINE,
      kind: 'pipeline',
      name: 'film_rating_agg',
      connection: null,
      pipeline_id: PIPELINE_ID,
      exists: true,
      columns: [AVERAGE],
      shaping: SHAPING,
    },
    {
      ...NODE,
      id: 'ugc.ratings',
      kind: 'table',
      name: 'ugc.ratings',
      connection: null,
      exists: true,
      hidden_down: 1,
      columns: [{ ...AVERAGE, name: 'rating', type: 'smallint', kind: null, sources: [], expression: null }],
    },
  ],
  edges: [{ from: 'ugc.ratings', to: PIPELINE }],
  total_nodes: 9,
  problems: [],
}

export const PIPELINE_LINEAGE_EXAMPLE = {
  pipeline_id: PIPELINE_ID,
  name: 'film_rating_agg',
  target: 'analytics.film_rating_agg',
  reads: [{ node: 'ugc.ratings', kind: 'table', via: null }],
  error: null,
  open: null,
  columns: [{ ...AVERAGE, base: AVERAGE.sources }],
  shaping: SHAPING,
  problems: [],
}

export const OPEN_LINEAGE_EXAMPLE = [
  {
    eventTime: '2026-11-15T13:00:00.000000Z',
    producer: 'urn:vitrina',
    schemaURL: 'https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/JobEvent',
    job: { namespace: 'vitrina', name: 'film_rating_agg' },
    inputs: [{ namespace: 'postgres://db:5432', name: 'cinema.ugc.ratings' }],
    outputs: [{ namespace: 'postgres://db:5432', name: 'cinema.analytics.film_rating_agg' }],
  },
]
