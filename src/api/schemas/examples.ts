import { FIELD_DEFAULTS } from '../../model/pipeline-fields.js'

/** Complete responses for the reference, recorded from the demo; a test checks them against their schemas. */
const PIPELINE_ID = '11111111-1111-1111-1111-111111111111'
const RUN_ID = '5a3edc36-4f6a-4214-988e-db8fc6009024'

export const PIPELINE_EXAMPLE = {
  id: PIPELINE_ID,
  name: 'film_dim',
  type: 'SQL',
  target_table: 'analytics.film_dim',
  ...FIELD_DEFAULTS,
  description: 'Every film with its rating.',
  source_query: 'SELECT id AS film_id, title, rating, modified AS updated_at FROM content.film_work',
  mode: 'incremental',
  incremental_key: 'updated_at',
  incremental_id_key: 'film_id',
  deletes: 'sweep',
  key_columns: ['film_id'],
  schedule_interval: '15m',
  status: 'IDLE',
  config_version: 3,
  managed_by: 'api',
  tasks: [],
  created_at: '2026-11-15T11:49:33.518651Z',
  updated_at: '2026-11-15T12:03:10.120044Z',
}

export const RUN_EXAMPLE = {
  id: RUN_ID,
  pipeline_id: PIPELINE_ID,
  pipeline_name: 'film_dim',
  status: 'SUCCESS',
  trigger: 'api',
  external_ref: 'airflow:film_dim:2026-11-15',
  cancel_requested: false,
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  attempt: 1,
  strategy: 'sql_incremental',
  way: 'pushdown',
  guarantee: 'lossless if the database sets the key',
  config_version: 3,
  runner_id: 'vm-5084-156529',
  requested_at: '2026-11-15T12:04:34.311125Z',
  started_at: '2026-11-15T12:04:34.352163Z',
  finished_at: '2026-11-15T12:04:34.543540Z',
  duration_ms: 191,
  rows_read: 71,
  rows_written: 4,
  rows_inserted: 1,
  rows_updated: 3,
  rows_unchanged: 67,
  rows_deleted: 0,
  rows_quarantined: 0,
  rows_duplicate: 0,
  batches: 1,
  parts_total: 0,
  parts_done: 0,
  error: null,
  error_code: null,
  error_hint: null,
  held_back: null,
  waiting: null,
  cost: { blocks_read: 343, wal_bytes: 5120 },
}

export const RUN_REQUESTED_EXAMPLE = {
  id: PIPELINE_ID,
  status: 'RUN_REQUESTED',
  run_id: RUN_ID,
  url: `/api/v1/runs/${RUN_ID}`,
}

export const VALIDATION_EXAMPLE = {
  valid: false,
  errors: [
    {
      code: 'SOURCE_REFUSED',
      field: 'source_query',
      message: 'pg_sleep() may not be called: it only makes the server wait.',
      hint: 'Use a function that only computes, or a transform.',
      sqlstate: null,
      position: { offset: 18, line: 1, column: 19 },
    },
  ],
  warnings: [],
  columns: [],
  strategy: 'sql_full',
  way: null,
  guarantee: null,
  reads: null,
  creates_target: false,
  plan: null,
  changes: null,
}

export const SOURCE_EXAMPLE = {
  connection: 'main',
  state: 'capturing',
  slot: 'vitrina_main_4f1c2a9b',
  publication: 'vitrina_main_4f1c2a9b',
  way: 'stream',
  owner: 'etl-1-4242-9f3c1a',
  generation: '1763292000000',
  generation_at: '2025-11-16T11:20:00Z',
  lag_bytes: 136,
  held_bytes: 16_777_216,
  upto: '0/3A1B2C8',
  error: null,
  lost: null,
  updated_at: '2025-11-16T12:00:00.123456Z',
  tables: [
    {
      table: 'ugc.ratings',
      identity: 'primary key',
      columns: ['rating_id'],
      needed: ['rating_id', 'film_id'],
      is_lossless: false,
      statements: [
        'CREATE UNIQUE INDEX CONCURRENTLY "ratings_identity_5c1f0e" ON "ugc"."ratings" ("rating_id", "film_id")',
        'ALTER TABLE "ugc"."ratings" REPLICA IDENTITY USING INDEX "ratings_identity_5c1f0e"',
      ],
      reason:
        'A changed row can be followed only with (rating_id, film_id); the replica identity has (rating_id).',
      cost: 'Cost: a unique index that every INSERT and every update of its columns writes, and 2 to 6 % more WAL for an update.',
      until:
        'Until then, every UPDATE or DELETE on ugc.ratings makes the next run compute the whole query. Inserted rows are followed.',
    },
  ],
  pipelines: [
    {
      id: '00000000-0000-4000-8000-000000000002',
      name: 'film_ratings',
      is_live: true,
      position: '0/3A1B240',
      lag_bytes: 136,
      moved_at: '2025-11-16T12:00:00.100000Z',
    },
  ],
}

export const PREVIEW_EXAMPLE = {
  columns: [
    { name: 'film_id', type: 'uuid' },
    { name: 'title', type: 'text' },
    { name: 'rating', type: 'numeric(3,1)' },
  ],
  rows: [
    { film_id: '5719b39c-ccdf-5cf0-b0e3-97a75be2174a', title: 'The Godfather', rating: '9.2' },
    { film_id: '3b7ee080-b8b5-5cb0-8765-059fe22f9324', title: 'Pulp Fiction', rating: null },
  ],
  truncated: false,
}

const SIDE = {
  min: '063ec2a9-5cd9-5bd0-9906-a49c2b942675',
  max: 'fe966d26-028e-578e-9016-e6292b0bc4a3',
}

export const RECONCILIATION_EXAMPLE = {
  matches: false,
  control_field: 'film_id',
  source: { count: 71, ...SIDE },
  target: { count: 70, ...SIDE },
  missing: { count: 1, keys: [{ film_id: '5719b39c-ccdf-5cf0-b0e3-97a75be2174a' }] },
  extra: { count: 0, keys: [] },
  different: { count: 1, keys: [{ film_id: '3b7ee080-b8b5-5cb0-8765-059fe22f9324' }] },
  on_their_way: 0,
  undecided: 0,
}

export const PROBLEM_EXAMPLE = {
  type: 'urn:vitrina:error:REQUEST_INVALID',
  title: 'The request is invalid.',
  status: 422,
  detail: 'The request is invalid. mode: must be "full" or "incremental".',
  instance: '/api/v1/pipelines',
  code: 'REQUEST_INVALID',
  vtr: 'VTR-7101',
  hint: 'Correct the fields listed in "errors".',
  retryable: false,
  request_id: '9f074398-3a7f-42fe-ac9f-52cf185e4631',
  errors: [
    {
      field: 'mode',
      code: 'invalid_value',
      message: 'must be "full" or "incremental"',
    },
  ],
}

export const ROWS_EXAMPLE = {
  columns: [
    { name: 'film_id', type: 'uuid', is_key: true, not_null: true },
    { name: 'title', type: 'text', is_key: false, not_null: false },
    { name: 'rating', type: 'numeric(3,1)', is_key: false, not_null: false },
  ],
  hidden_columns: [],
  rows: [{ film_id: '0312ed51-8833-413f-bff5-0e139c11264a', title: 'Solaris', rating: '8.1' }],
  cut: [],
  sort: { column: 'rating', direction: 'desc' },
  rows_estimate: 1000,
  next_cursor: 'WyJkM0Jja2NfZ2p1bTNCUUFYIiwiOC4xIiwiMDMxMmVkNTEiXQ',
}

export const PROFILE_EXAMPLE = {
  pipeline_id: PIPELINE_ID,
  target_table: 'analytics.film_dim',
  computed_at: '2026-11-15T12:03:10.120044Z',
  duration_ms: 21,
  config_version: 3,
  outdated: false,
  rows: 1000,
  rows_exact: true,
  rows_examined: 1000,
  sample_percent: null,
  columns: [
    {
      name: 'rating',
      type: 'numeric(3,1)',
      is_key: false,
      not_null: false,
      skipped: null,
      nulls: 12,
      nulls_exact: true,
      distinct: 61,
      distinct_exact: true,
      min: '2.1',
      max: '9.4',
      range_exact: true,
      histogram: [{ from: '2.1', to: '9.4', count: 988 }],
      common: [],
      sample: ['7.3', '8.1'],
    },
  ],
  hidden_columns: [],
  suggested_checks: [
    { name: 'row_count', type: 'row_count', min: 500, on_failure: 'warn' },
    { name: 'rating_range', type: 'range', column: 'rating', min: 0, max: 10, on_failure: 'warn' },
  ],
}
