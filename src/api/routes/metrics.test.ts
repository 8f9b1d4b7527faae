import { describe, expect, it } from 'vitest'
import { anApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase } from '../../../tests/support/database.js'

describe('GET /metrics', () => {
  it('reports runs that another process executed', async () => {
    const database = await aDatabase()
    const api = anApi(database.loginUrl('meta'))
    const film = await aPipeline(database, { name: 'film_dim' })
    await aPipeline(database, { name: 'idle' })
    const insert = `INSERT INTO etl.etl_runs (pipeline_id, status, started_at, finished_at, rows_read, rows_inserted, rows_updated)
      VALUES ($1, $2, to_timestamp($3), to_timestamp($4), $5, $6, 1)`
    await database.query(insert, [film.id, 'SUCCESS', 1_700_000_000, 1_700_000_000.5, 10, 7])
    await database.query(insert, [film.id, 'SUCCESS', 1_700_000_100, 1_700_000_102, 3_000_000_000, 2])
    await database.query(insert, [film.id, 'FAILED', 1_700_000_200, 1_700_000_210, 0, 0])
    await database.query(insert, [film.id, 'RUNNING', 1_700_000_300, null, 5, 0])
    await database.query(
      "INSERT INTO etl.etl_runners (id, host, pid, version, concurrency, heartbeat_at) VALUES ('r', 'h', 1, '1', 4, to_timestamp(1700000400))",
    )

    const answer = await api.get('/metrics')
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/)
    const lines = new Set(answer.body.split('\n'))
    for (const line of [
      'vitrina_meta_store_up 1',
      'vitrina_pipelines{status="IDLE"} 2',
      'vitrina_pipelines{status="RUNNING"} 0',
      'vitrina_runs_total{pipeline="film_dim",status="SUCCESS"} 2',
      'vitrina_runs_total{pipeline="film_dim",status="FAILED"} 1',
      'vitrina_runs_total{pipeline="idle",status="FAILED"} 0',
      'vitrina_rows_total{pipeline="film_dim",stage="read"} 3000000015',
      'vitrina_rows_total{pipeline="film_dim",stage="inserted"} 9',
      'vitrina_run_duration_seconds_bucket{le="0.5",pipeline="film_dim"} 1',
      'vitrina_run_duration_seconds_bucket{le="5",pipeline="film_dim"} 2',
      'vitrina_run_duration_seconds_bucket{le="+Inf",pipeline="film_dim"} 3',
      'vitrina_run_duration_seconds_sum{pipeline="film_dim"} 12.5',
      'vitrina_last_success_timestamp_seconds{pipeline="film_dim"} 1700000102',
      'vitrina_runner_heartbeat_timestamp_seconds 1700000400',
      'vitrina_build_info{version="0.0.0-test"} 1',
    ]) {
      expect(lines).toContain(line)
    }
    expect(answer.body).not.toContain('vitrina_last_success_timestamp_seconds{pipeline="idle"}')
  })

  it('counts requests by route, so that ids do not create series', async () => {
    const database = await aDatabase()
    const api = anApi(database.loginUrl('meta'))
    const { id } = await aPipeline(database)
    await api.get(`/api/v1/pipelines/${id}`)
    await api.get('/nothing/at/all')
    const { body } = await api.get('/metrics')
    expect(body).toContain(
      'vitrina_http_requests_total{method="GET",route="/api/v1/pipelines/:id",status="200"} 1',
    )
    expect(body).toContain('vitrina_http_requests_total{method="GET",route="unknown",status="404"} 1')
    expect(body).toContain(
      'vitrina_http_request_duration_seconds_count{method="GET",route="/api/v1/pipelines/:id"} 1',
    )
    expect(body).not.toContain(id)
  })
})
